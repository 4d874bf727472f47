import { randomUUID } from 'node:crypto';
import { link, open, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { walletError } from './wallet-error.ts';

export interface WriteFileOptions {
  /** Permission bits, whatever the umask is. */
  readonly mode: number;
  /** Whether a file of that name may be replaced; otherwise FILE_EXISTS. */
  readonly replace: boolean;
  /** A file whose owner, group and permission bits the new one gets: who could read that one can read this one. */
  readonly like?: string;
}

/**
 * Writes a file so that it is there whole and on disk, or not at all: to a new name beside it, synced, then given
 * its name, and the directory synced.
 */
export async function writeFileAtomically(
  path: string,
  text: string,
  options: WriteFileOptions,
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporary, 'wx', options.mode);
  try {
    await file.chmod(options.mode);
    if (options.like !== undefined) await giveTo(file, options.like);
    await file.writeFile(text);
    await file.sync();
    await file.close();
    if (options.replace) await rename(temporary, path);
    // Unlike rename, link never replaces, also not a file that another process makes at this moment.
    else await link(temporary, path);
    await syncDirectoryOf(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw walletError('FILE_EXISTS', `${path} exists already and is not overwritten`, { path }, error);
  } finally {
    await file.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
  }
}

/** Only a superuser may give a file away; anybody else is told so before anything is replaced. */
async function giveTo(file: FileHandle, like: string): Promise<void> {
  const [own, theirs] = [await file.stat(), await stat(like)];
  if (own.uid !== theirs.uid || own.gid !== theirs.gid) await file.chown(theirs.uid, theirs.gid);
  await file.chmod(theirs.mode & 0o777);
}

/** Waits until a new, renamed or removed file is so on disk as well. */
export async function syncDirectoryOf(path: string): Promise<void> {
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
