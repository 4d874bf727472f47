import { readClosedFile } from './read-closed-file.ts';

/** Strips the last line end. Passphrases never come from arguments or environment, which other processes can read. */
export async function readPassphraseFile(path: string): Promise<string> {
  return (await readClosedFile(path)).replace(/\r?\n$/, '');
}
