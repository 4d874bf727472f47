import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
/** Far more than the data, write-ahead logs and queues of the test servers. */
const ROOM_BYTES = 8 * 1024 ** 3;

/** Prefers memory: ext4 takes up to a second for a test database's 800 files, memory takes 0.1 s. */
export function scratchParent(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, process.availableMemory()) >= ROOM_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
