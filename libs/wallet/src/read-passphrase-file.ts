import { readClosedFile } from './read-closed-file.ts';

/**
 * The passphrase in a file: its text without one line end. Passphrases come from files or prompts, never from
 * arguments or the environment, which other processes can read. Throws FILE_UNREADABLE, FILE_TOO_OPEN.
 */
export async function readPassphraseFile(path: string): Promise<string> {
  return (await readClosedFile(path)).replace(/\r?\n$/, '');
}
