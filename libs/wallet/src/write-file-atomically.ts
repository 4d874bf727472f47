import { randomUUID } from 'node:crypto';
import { link, open, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { walletError } from './wallet-error.ts';

export interface WriteFileOptions {
  /** Independent of the umask. */
  readonly mode: number;
  /** Without it an existing file causes FILE_EXISTS. */
  readonly replace: boolean;
  readonly like?: string;
}

/** Writes completely or not at all, and durably: temporary file, sync, rename, sync of the directory. */
export async function writeFileAtomically(
  path: string,
  text: string,
  options: WriteFileOptions,
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporary, 'wx', options.mode);
  try {
    await file.chmod(options.mode);
    if (options.like !== undefined) await copyOwnership(file, options.like);
    await file.writeFile(text);
    await file.sync();
    await file.close();
    if (options.replace) await rename(temporary, path);
    // Unlike rename, link never replaces a file, not even one that another process just created.
    else await link(temporary, path);
    await syncDirectoryOf(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw walletError('FILE_EXISTS', `${path} already exists and is not overwritten`, { path }, error);
  } finally {
    await file.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
  }
}

/** Only root may change the owner; for other users it fails before any file is replaced. */
async function copyOwnership(file: FileHandle, like: string): Promise<void> {
  const [own, theirs] = [await file.stat(), await stat(like)];
  if (own.uid !== theirs.uid || own.gid !== theirs.gid) await file.chown(theirs.uid, theirs.gid);
  await file.chmod(theirs.mode & 0o777);
}

/** Makes a created, renamed or removed entry durable. */
export async function syncDirectoryOf(path: string): Promise<void> {
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
