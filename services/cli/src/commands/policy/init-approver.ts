import { createApproverKey } from '@opentill/wallet/policy/approver-key';
import { type CliContext } from '../../context.ts';
import { askNewPassphrase } from '../keys/ask-passphrase.ts';
import { requireAbsent } from '../keys/write-wallet.ts';

/** Run it on the approver's own machine. */
export async function initApprover(
  context: CliContext,
  options: { readonly out: string; readonly passphraseFile?: string },
): Promise<void> {
  const { out } = options;
  await requireAbsent(out);
  const passphrase = await askNewPassphrase(context, options.passphraseFile);
  const publicKey = await createApproverKey(out, passphrase, context.keystoreCost);
  context.print(`Key ${out}: keep it and its passphrase secret. For the policy:`);
  context.print(JSON.stringify({ name: 'your name', publicKey }));
}
