import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { kindOf } from '@opentill/contracts/network-kind';
import { parsePolicy } from '@opentill/wallet/policy/parse-policy';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { CODECS } from './test-keys.ts';

type Terms = Readonly<Record<string, unknown>>;

/** Unlimited, except for the terms that a test sets. */
export interface TestPolicy {
  readonly coldAddress?: Address;
  readonly sweep?: Terms | null;
  readonly asset?: Terms;
  /** @default the tokens with a contract */
  readonly symbols?: readonly string[];
  readonly more?: Terms;
}

const HIGH = '10000000';
const UNLIMITED = { maxPerPayout: HIGH, maxPerHour: HIGH, maxPerDay: HIGH, maxPerMerchantPerDay: HIGH };
const SWEEP = { maxCostShare: '0.5', minAgeMinutes: 0 };

export function policyText({ chain, tokens }: NetworkConfig, policy: TestPolicy = {}): string {
  const { coldAddress, sweep = null, asset, more } = policy;
  const symbols =
    policy.symbols ?? tokens.filter(({ contract }) => contract !== null).map(({ symbol }) => symbol);
  const terms = {
    enabled: true,
    coldAddress,
    ...(sweep && { sweep: { ...SWEEP, ...sweep } }),
    assets: Object.fromEntries(symbols.map((symbol) => [symbol, { ...UNLIMITED, ...asset }])),
  };
  return JSON.stringify({ version: 1, chains: { [chain]: terms }, ...more });
}

export function policyCheckOf(network: NetworkConfig, policy: TestPolicy = {}): PolicyJudge {
  const known = { networks: [network], codecs: Object.values(CODECS) };
  return judgeByPolicy(parsePolicy(policyText(network, policy), known), kindOf(network));
}
