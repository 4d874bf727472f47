import { readPrivateFile } from './read-private-file.ts';

/** For parseMnemonic. @throws FILE_UNREADABLE, FILE_TOO_OPEN */
export function readWordsFile(path: string): Promise<string> {
  return readPrivateFile(path);
}
