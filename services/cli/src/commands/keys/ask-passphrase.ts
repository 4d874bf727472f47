import { GatewayError } from '@opentill/domain/gateway-error';
import { readPassphraseFile } from '@opentill/wallet/read-passphrase-file';
import type { CliContext, CliErrorCode } from '../../context.ts';

/** Passphrases come from a file or the terminal; arguments and the environment are for everybody to read. */
type Asking = Pick<CliContext, 'askSecret'>;

/** A passphrase that something is to be sealed by; typed twice. Throws CLI_USAGE, NO_TERMINAL, FILE_…. */
export async function askNewPassphrase(context: Asking, file: string | undefined): Promise<string> {
  if (file !== undefined) return readPassphraseFile(file);
  const first = await context.askSecret('New passphrase');
  const second = await context.askSecret('The same again');
  if (first !== second) {
    throw new GatewayError<CliErrorCode>('CLI_USAGE', 'The two passphrases differ; nothing was written.', {
      retryable: false,
    });
  }
  return first;
}

/** The passphrase of something that is sealed. Throws NO_TERMINAL, FILE_…. */
export async function askPassphrase(context: Asking, file: string | undefined): Promise<string> {
  return file === undefined ? context.askSecret('Passphrase') : readPassphraseFile(file);
}
