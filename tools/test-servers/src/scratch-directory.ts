import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory of the test's own that server users can enter; removed at its end. */
export async function withScratchDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'opentill-devnet-'));
  chmodSync(directory, 0o711);
  try {
    await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const MEMORY = '/dev/shm';
/** Far more than the test servers write: data, write-ahead logs, queues. */
const ROOM_BYTES = 8 * 1024 ** 3;

/**
 * Parent folder for data that a test run throws away: in memory where there is room. Each test database is 800 files. On ext4
 * creating them takes up to a second, because it skips the inodes of recently deleted ones; in memory it takes 0.1 s.
 */
export function scratchParent(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, process.availableMemory()) >= ROOM_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
