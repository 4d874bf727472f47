import { readPassphraseFile } from '@opentill/wallet/read-passphrase-file';
import { usage, type CliContext } from '../../context.ts';

/** Passphrases come from a file or the terminal: other users of the machine can read arguments and environment. */
type Asking = Pick<CliContext, 'askSecret'>;

/** Asks twice. */
export async function askNewPassphrase(context: Asking, file: string | undefined): Promise<string> {
  if (file !== undefined) return readPassphraseFile(file);
  const first = await context.askSecret('New passphrase');
  const second = await context.askSecret('Repeat the passphrase');
  if (first !== second) {
    throw usage('The two passphrases differ; nothing was written.');
  }
  return first;
}

export async function askPassphrase(context: Asking, file: string | undefined): Promise<string> {
  return file === undefined ? context.askSecret('Passphrase') : readPassphraseFile(file);
}
