import { readClosedFile } from './read-closed-file.ts';

/**
 * Passphrase in a file: its text without the last line end. Passphrases come from files or prompts only, because
 * other processes can read arguments and the environment.
 * @throws FILE_UNREADABLE, FILE_TOO_OPEN
 */
export async function readPassphraseFile(path: string): Promise<string> {
  return (await readClosedFile(path)).replace(/\r?\n$/, '');
}
