import { changePassphrase } from '@opentill/wallet/change-passphrase';
import type { CliContext } from '../../context.ts';
import { askNewPassphrase, askPassphrase } from './ask-passphrase.ts';

export interface ReplacePassphraseOptions {
  readonly keystore: string;
  readonly policy?: string;
  readonly passphraseFile?: string;
  readonly newPassphraseFile?: string;
}

/**
 * Seals the keystore, and the policy with it, by another passphrase.
 * @throws GatewayError CLI_USAGE, NO_TERMINAL, or a WalletErrorCode; then nothing was changed
 */
export async function replacePassphrase(
  context: CliContext,
  options: ReplacePassphraseOptions,
): Promise<void> {
  const { keystore, policy } = options;
  const oldPassphrase = await askPassphrase(context, options.passphraseFile);
  const newPassphrase = await askNewPassphrase(context, options.newPassphraseFile);
  const files = policy === undefined ? {} : { policyFile: policy };
  await changePassphrase({ keystoreFile: keystore, ...files, oldPassphrase, newPassphrase });
  context.print(
    `${policy === undefined ? keystore : `${keystore} and ${policy}`}: sealed by the new passphrase.`,
  );
  if (policy === undefined)
    context.print('A policy sealed by the old one must be sealed again: opentill policy seal.');
  context.print(
    'Put the new passphrase into the file of payout-signer. Copies made before open by the old one.',
  );
}
