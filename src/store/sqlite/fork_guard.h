// Descriptors that carry a lock must not live on in a forked child: a lock of an open file lasts as
// long as any process has that file open, so a worker that forks would keep the lock after the
// death of its parent. What is listed here is closed in every child that fork() makes. A child that
// runs another program (exec, posix_spawn) loses them by O_CLOEXEC anyway.
//
// Threads: any.
#pragma once

namespace pawl::store::sqlite {

void close_in_children(int descriptor);
void keep_in_children(int descriptor);  // takes it off the list; before it is closed here

}  // namespace pawl::store::sqlite
