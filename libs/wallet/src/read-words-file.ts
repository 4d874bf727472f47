import { readClosedFile } from './read-closed-file.ts';

/** The text of a file with the words of a mnemonic, for parseMnemonic. Throws FILE_UNREADABLE, FILE_TOO_OPEN. */
export function readWordsFile(path: string): Promise<string> {
  return readClosedFile(path);
}
