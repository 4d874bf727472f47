import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { policyCheckOf, type TestPolicy } from '../world/test-policy.ts';

export const COLD = '0xc01dc01dc01dc01dc01dc01dc01dc01dc01dc01d' as Address;
const SWEEP = { nativePrice: '1', maxTopUp: '0.1', maxNativePerDay: '10' };

export type SweepTerms = Pick<TestPolicy, 'sweep' | 'asset'>;

export function sweepPolicy({ sweep, asset = {} }: SweepTerms = {}): TestPolicy {
  return { coldAddress: COLD, sweep: { ...SWEEP, ...sweep }, asset };
}

export const sweepTermsOf = (network: NetworkConfig, given?: SweepTerms) =>
  policyCheckOf(network, sweepPolicy(given)).sweepsOf(network.chain)!;
