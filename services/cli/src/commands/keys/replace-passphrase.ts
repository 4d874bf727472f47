import { changePassphrase } from '@opentill/wallet/change-passphrase';
import { usage, type CliContext } from '../../context.ts';
import { askNewPassphrase, askPassphrase } from './ask-passphrase.ts';

export interface ReplacePassphraseOptions {
  readonly keystore: string;
  readonly policy?: string | false;
  readonly passphraseFile?: string;
  readonly newPassphraseFile?: string;
}

/**
 * One passphrase opens keystore and policy, so a forgotten policy would keep payout-signer from starting. After an
 * error no file was changed.
 */
export async function replacePassphrase(
  context: CliContext,
  options: ReplacePassphraseOptions,
): Promise<void> {
  const { keystore, policy } = options;
  if (policy === undefined) {
    throw usage(
      'Give the policy that the same passphrase opens (--policy <file>), or --no-policy if there is none.',
    );
  }
  const oldPassphrase = await askPassphrase(context, options.passphraseFile);
  const newPassphrase = await askNewPassphrase(context, options.newPassphraseFile);
  const files = policy === false ? {} : { policyFile: policy };
  await changePassphrase({ keystoreFile: keystore, ...files, oldPassphrase, newPassphrase });
  context.print(
    `${policy === false ? keystore : `${keystore} and ${policy}`}: sealed with the new passphrase.`,
  );
  context.print('Put the new passphrase into the file of payout-signer. Older copies open with the old one.');
}
