// A module without sources yet.
