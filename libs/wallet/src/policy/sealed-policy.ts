import { createHash } from 'node:crypto';
import {
  areEndedByEpochs,
  arePaidByGas,
  MAX_PAYOUT_GAS,
  type NetworkConfig,
} from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';
import { readJson } from '@opentill/domain/read-json';
import { replaceKeystore } from '../keystore.ts';
import { openKeystoreWithRecovery } from '../open-keystore-with-recovery.ts';
import { walletError } from '../wallet-error.ts';
import { parsePolicy, type PolicyContext } from './parse-policy.ts';
import { invalidPolicy } from './invalid-policy.ts';
import type { Policy } from './policy.ts';

export interface OpenedPolicy {
  readonly policy: Policy;
  readonly text: string;
  /** SHA-256 of the sealed bytes, hex: the output of `policy seal`. */
  readonly digest: string;
  readonly sealedAt: Date;
  /** For chains whose policy was sealed before policies kept `maxGas`. */
  readonly gasCaps: ReadonlyMap<Chain, number>;
}

export interface OpenPolicyOptions extends PolicyContext {
  readonly policyFile: string;
  readonly passphrase: string;
  readonly fingerprint: string;
  /** Scrypt's N of the file. Only tests set it. @default 2^17 */
  readonly cost?: number | undefined;
}

/** `surroundings` (chain ids, fee caps, tokens): another file cannot redirect a chain, change amounts or raise fees. */
interface Sealed {
  readonly version: typeof VERSION;
  readonly sealedAt: string;
  readonly surroundings: readonly string[];
  readonly text: string;
}

const VERSION = 2;
/** Upper bound of every payment from before policies kept `maxGas`. */
const GAS_BEFORE_SEALED = 300_000;

/** @returns the digest; throws POLICY_INVALID and the errors of replaceKeystore */
export async function sealPolicy(
  options: OpenPolicyOptions & { readonly text: string; readonly now: Date },
): Promise<string> {
  const { text, now, policyFile, fingerprint, passphrase, cost } = options;
  const policy = parsePolicy(text, options);
  const sealed: Sealed = {
    version: VERSION,
    sealedAt: now.toISOString(),
    surroundings: surroundingsOf(policy, options.networks),
    text,
  };
  const secret = Buffer.from(JSON.stringify(sealed), 'utf8');
  await replaceKeystore(policyFile, { purpose: 'policy', keyId: fingerprint, secret }, passphrase, cost);
  return digestOf(secret);
}

/**
 * @throws POLICY_OF_ANOTHER_SEED; POLICY_INVALID, also when chain ids, fee caps, gas or tokens of the network file
 * changed since sealing; and the errors of openKeystore
 */
export async function openPolicy(options: OpenPolicyOptions): Promise<OpenedPolicy> {
  const { policyFile: path, passphrase, fingerprint, cost } = options;
  const { secret, keyId } = await openKeystoreWithRecovery(path, 'policy', passphrase, cost);
  if (keyId !== fingerprint) {
    const message = `${path} was sealed for the wallet ${keyId}, this keystore is ${fingerprint}. Seal the policy again`;
    throw walletError('POLICY_OF_ANOTHER_SEED', message, { path, keyId, fingerprint });
  }
  const { text, surroundings, sealedAt } = readSealed(secret);
  const policy = parsePolicy(text, options);
  const now = surroundingsOf(policy, options.networks);
  const changed = surroundings.filter((fact) => !now.includes(fact));
  if (changed.length > 0) {
    const was = changed.map((fact) => `the network file had ${fact} when it was sealed`);
    throw invalidPolicy([...was, 'check the network file, then seal the policy again']);
  }
  const gasCaps = gasCapsOf(policy, options.networks, surroundings);
  return { policy, text, digest: digestOf(secret), sealedAt: new Date(sealedAt), gasCaps };
}

function gasCapsOf(
  { chains }: Policy,
  networks: readonly NetworkConfig[],
  sealed: readonly string[],
): ReadonlyMap<Chain, number> {
  const unsealed = networks.filter((network) => {
    const fact = maxGasOf(network);
    return fact !== undefined && chains.has(network.chain) && !sealed.includes(fact);
  });
  return new Map(unsealed.map(({ chain }) => [chain, GAS_BEFORE_SEALED]));
}

function readSealed(secret: Uint8Array): Sealed {
  const read = readJson(Buffer.from(secret).toString('utf8'));
  const sealed = (read.ok ? read.value : undefined) as Partial<Sealed> | null | undefined;
  if (sealed?.version === VERSION) return sealed as Sealed;
  throw invalidPolicy([
    `it was sealed as version ${sealed?.version ?? 'unknown'}, which this version cannot read: seal it again`,
  ]);
}

function surroundingsOf({ chains }: Policy, networks: readonly NetworkConfig[]): readonly string[] {
  return [...chains].flatMap(([chain, { assets }]) => {
    const network = networks.find((candidate) => candidate.chain === chain);
    return [
      `${chain} with chain id ${network?.chainId ?? network?.genesisId ?? 'none'}`,
      `${chain} with ${feeCapsOf(network)}`,
      ...[network === undefined ? undefined : maxGasOf(network)].filter((fact) => fact !== undefined),
      ...[...assets].map(
        ([symbol, { contract, decimals }]) =>
          `${chain} ${symbol} ${contract ?? 'native'} with ${decimals} decimals`,
      ),
    ];
  });
}

/** Separate from the fee caps, so that policies sealed without it still open. */
function maxGasOf({ chain, payouts }: NetworkConfig): string | undefined {
  return payouts === undefined || !arePaidByGas(payouts)
    ? undefined
    : `${chain} with payouts of at most ${payouts.maxGas ?? MAX_PAYOUT_GAS} gas`;
}

function feeCapsOf(network: NetworkConfig | undefined): string {
  const payouts = network?.payouts;
  if (payouts === undefined) return 'no payouts';
  if (areEndedByEpochs(payouts))
    return `payouts for maxGasPriceMist ${BigInt(payouts.maxGasPriceMist)} and maxGasBudgetMist ${BigInt(payouts.maxGasBudgetMist)}`;
  if (!arePaidByGas(payouts)) return `payouts for maxFeeLimitSun ${BigInt(payouts.maxFeeLimitSun)}`;
  const { maxFeePerGas, maxPriorityFeePerGas } = payouts;
  return `payouts for maxFeePerGas ${BigInt(maxFeePerGas)} and maxPriorityFeePerGas ${BigInt(maxPriorityFeePerGas)}`;
}

function digestOf(secret: Uint8Array): string {
  return createHash('sha256').update(secret).digest('hex');
}
