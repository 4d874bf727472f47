import { open } from 'node:fs/promises';
import { walletError } from './wallet-error.ts';

const FILE_BYTES_MAX = 64 * 1024;
/** Others have no access, the group cannot write. A group may read: orchestrators mount secrets that way. */
const FORBIDDEN_BITS = 0o027;

/** Throws FILE_UNREADABLE (missing, forbidden, above `bytesMax`), FILE_TOO_OPEN. */
export async function readPrivateFile(path: string, bytesMax = FILE_BYTES_MAX): Promise<string> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw walletError('FILE_UNREADABLE', `${path} cannot be read`, { path }, cause);
  });
  try {
    const { mode, size } = await file.stat();
    if ((mode & FORBIDDEN_BITS) !== 0) {
      throw walletError('FILE_TOO_OPEN', `${path} must not be open to others: chmod 600`, { path });
    }
    if (size > bytesMax) throw walletError('FILE_UNREADABLE', `${path} is too large`, { path, size });
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
