import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
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
