import { createHash } from 'node:crypto';
import { replaceKeystore } from '../keystore.ts';
import { openKeystoreOrNext } from '../open-keystore-or-next.ts';
import { walletError } from '../wallet-error.ts';
import { parsePolicy, type PolicySurroundings } from './parse-policy.ts';
import { invalidPolicy } from './policy-mistakes.ts';
import type { Policy } from './policy.ts';

/** A policy as it came out of its sealed file. */
export interface OpenedPolicy {
  readonly policy: Policy;
  /** The operator's text. */
  readonly text: string;
  /** SHA-256 of what was sealed, hex: to be compared with what `policy seal` printed. */
  readonly digest: string;
  readonly sealedAt: Date;
}

export interface OpenPolicyOptions extends PolicySurroundings {
  readonly policyFile: string;
  /** The keystore's. */
  readonly passphrase: string;
  /** Of the keystore's seed. */
  readonly fingerprint: string;
}

/** What is encrypted. `tokens`: what the amounts were reckoned by, so that no other network file changes them. */
interface Sealed {
  readonly version: 1;
  readonly sealedAt: string;
  readonly tokens: readonly string[];
  readonly text: string;
}

/**
 * Checks a policy and seals it for the seed of this fingerprint, in the place of an older one; written whole or not at
 * all. Gives the digest. Throws POLICY_INVALID, and what replaceKeystore throws.
 */
export async function sealPolicy(
  options: OpenPolicyOptions & { readonly text: string; readonly now: Date },
): Promise<string> {
  const { text, now, policyFile, fingerprint, passphrase } = options;
  const policy = parsePolicy(text, options);
  const sealed: Sealed = { version: 1, sealedAt: now.toISOString(), tokens: tokensOf(policy), text };
  const secret = Buffer.from(JSON.stringify(sealed), 'utf8');
  await replaceKeystore(policyFile, { purpose: 'policy', keyId: fingerprint, secret }, passphrase);
  return digestOf(secret);
}

/**
 * Opens and checks a sealed policy. Throws POLICY_OF_ANOTHER_SEED; POLICY_INVALID, also when the network file's tokens
 * are not those of the sealing; and what openKeystore throws.
 */
export async function openPolicy(options: OpenPolicyOptions): Promise<OpenedPolicy> {
  const { policyFile: path, passphrase, fingerprint } = options;
  const { secret, keyId } = await openKeystoreOrNext(path, 'policy', passphrase);
  if (keyId !== fingerprint) {
    const message = `${path} was sealed for the wallet ${keyId}, not for ${fingerprint}`;
    throw walletError('POLICY_OF_ANOTHER_SEED', message, { path, keyId, fingerprint });
  }
  const { text, tokens, sealedAt, version } = JSON.parse(Buffer.from(secret).toString('utf8')) as Sealed;
  if ((version as number) !== 1)
    throw invalidPolicy([`it was sealed as version ${version}, which is not known here`]);
  const policy = parsePolicy(text, options);
  const now = tokensOf(policy);
  const changed = tokens.filter((token) => !now.includes(token));
  if (changed.length > 0) {
    const was = changed.map((token) => `the network file had ${token} when it was sealed`);
    throw invalidPolicy([...was, 'check the network file, then seal the policy again']);
  }
  return { policy, text, digest: digestOf(secret), sealedAt: new Date(sealedAt) };
}

/** What makes out each token of a policy, one text each. */
function tokensOf({ chains }: Policy): readonly string[] {
  return [...chains].flatMap(([chain, { assets }]) =>
    [...assets].map(
      ([symbol, { contract, decimals }]) =>
        `${chain} ${symbol} ${contract ?? 'native'} with ${decimals} decimals`,
    ),
  );
}

function digestOf(secret: Uint8Array): string {
  return createHash('sha256').update(secret).digest('hex');
}
