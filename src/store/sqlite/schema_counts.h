// A step of the layout: how many jobs there are of each graph and status, so that nobody counts rows, and a page of a
// graph's jobs is found without reading the others. Published: never edited. Why: docs/decisions/080-counting-jobs.md.
#pragma once

namespace pawl::store::sqlite {

inline constexpr const char* counts_schema = R"sql(
CREATE TABLE job_counts (
  graph TEXT NOT NULL,
  status INTEGER NOT NULL,
  jobs INTEGER NOT NULL,
  PRIMARY KEY (graph, status)) WITHOUT ROWID;
INSERT INTO job_counts SELECT graph, status, count(*) FROM jobs GROUP BY graph, status;
CREATE TRIGGER job_counted AFTER INSERT ON jobs BEGIN
  INSERT INTO job_counts VALUES (NEW.graph, NEW.status, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER job_recounted AFTER UPDATE OF status ON jobs WHEN NEW.status <> OLD.status BEGIN
  UPDATE job_counts SET jobs = jobs - 1 WHERE graph = OLD.graph AND status = OLD.status;
  INSERT INTO job_counts VALUES (NEW.graph, NEW.status, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER job_uncounted AFTER DELETE ON jobs BEGIN
  UPDATE job_counts SET jobs = jobs - 1 WHERE graph = OLD.graph AND status = OLD.status;
END;
CREATE INDEX jobs_by_graph ON jobs (graph, status);
)sql";

}  // namespace pawl::store::sqlite
