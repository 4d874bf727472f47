import { readPassphraseFile } from '@opentill/wallet/read-passphrase-file';
import { usage, type CliContext } from '../../context.ts';

/** Passphrases come from a file or the terminal; arguments and the environment are for everybody to read. */
type Asking = Pick<CliContext, 'askSecret'>;

/** A passphrase that something is to be sealed by; typed twice. Throws CLI_USAGE, NO_TERMINAL, FILE_…. */
export async function askNewPassphrase(context: Asking, file: string | undefined): Promise<string> {
  if (file !== undefined) return readPassphraseFile(file);
  const first = await context.askSecret('New passphrase');
  const second = await context.askSecret('The same again');
  if (first !== second) {
    throw usage('The two passphrases differ; nothing was written.');
  }
  return first;
}

/** The passphrase of something that is sealed. Throws NO_TERMINAL, FILE_…. */
export async function askPassphrase(context: Asking, file: string | undefined): Promise<string> {
  return file === undefined ? context.askSecret('Passphrase') : readPassphraseFile(file);
}
