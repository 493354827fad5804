// Descriptors with a lock must not stay open in a forked child: the lock of an open file lasts as long as any process
// has that file open, so a child of a worker that forks would keep the lock after its parent's death. The descriptors
// listed here are closed in every child that fork() creates. A child that runs another program (exec, posix_spawn)
// loses them by O_CLOEXEC anyway.
//
// Threads: any.
#pragma once

namespace pawl::store::sqlite {

void close_in_children(int descriptor);
void keep_in_children(int descriptor);  // removes it from the list; call it before closing the descriptor

}  // namespace pawl::store::sqlite
