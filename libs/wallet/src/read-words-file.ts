import { readClosedFile } from './read-closed-file.ts';

/** Text of a mnemonic, for parseMnemonic. @throws FILE_UNREADABLE, FILE_TOO_OPEN */
export function readWordsFile(path: string): Promise<string> {
  return readClosedFile(path);
}
