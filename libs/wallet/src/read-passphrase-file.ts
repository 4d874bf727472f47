import { readPrivateFile } from './read-private-file.ts';

/** Strips the last line end. Arguments and environment are readable by other processes, so a file is the only way. */
export async function readPassphraseFile(path: string): Promise<string> {
  return (await readPrivateFile(path)).replace(/\r?\n$/, '');
}
