import { familyOf, type Chain, type Family } from '@opentill/domain/chains';
import { formatAmount } from '@opentill/domain/money';
import type { AssetPolicy, Policy, SweepPolicy } from '@opentill/wallet/policy/policy';
import { CHAIN_FAMILIES } from '../../families.ts';

const HOUR_MS = 3_600_000;

/** Describes the effective policy, not the text of its file. Pure. */
export function policyLines(policy: Policy, now: Date): readonly string[] {
  return [
    ...chainLines(policy),
    ...receiverLines(policy, now),
    policy.approvers.length === 0
      ? 'Approvers: none'
      : `Approvers: ${policy.approvalsRequired} needed of ${policy.approvers.length}, waited for ${policy.approvalWaitMs / HOUR_MS} hours`,
    ...policy.approvers.map(({ name, publicKey }) => `  ${name}  ${publicKey}`),
    'Everything not named here is refused.',
  ];
}

function chainLines({ chains }: Policy): readonly string[] {
  return [...chains].flatMap(([chain, { enabled, coldAddress, sweep, assets }]) => {
    const { format } = CHAIN_FAMILIES[familyOf(chain)].addressCodec;
    const cold = coldAddress === undefined ? 'no cold address' : `cold ${format(coldAddress)}`;
    return [
      `${chain}: ${enabled ? 'pays' : 'DISABLED, pays nothing'}; ${cold}`,
      `  ${sweep === undefined ? 'sweeps nothing' : describeSweep(chain, sweep)}`,
      ...[...assets].map(([symbol, asset]) => `  ${symbol}: ${describeAsset(asset)}`),
    ];
  });
}

const NATIVE_DECIMALS: Readonly<Record<Family, number>> = { EVM: 18, TRON: 6, SUI: 9 };

function describeSweep(chain: Chain, sweep: SweepPolicy): string {
  const family = familyOf(chain);
  const coins = (amount: bigint) => formatAmount(amount, NATIVE_DECIMALS[family], 0);
  const { units, scale } = sweep.nativePrice;
  const price = sweep.maxGasPriceBaseUnits;
  const energy = [
    ...(sweep.stake ? ['own stake'] : []),
    ...(sweep.rent ? [describeSeller(sweep, coins)] : []),
  ];
  return [
    `sweeps for at most ${sweep.maxCostBps / 100} % of the value, a coin at ${formatAmount(units, scale, 0)}`,
    `${coins(sweep.maxTopUpBaseUnits)} coins a top-up`,
    `${coins(sweep.maxNativePerDayBaseUnits)} a day`,
    ...(price === undefined ? [] : [PRICE_TEXTS[family](price)]),
    `money after ${sweep.minAgeMs / 60_000} minutes, small amounts after ${sweep.maxAgeMs / HOUR_MS} hours`,
    `${sweep.batchSize} at a time`,
    ...(energy.length === 0 ? [] : [`energy of ${energy.join(' and ')}`]),
    ...(family !== 'SUI'
      ? []
      : [sweep.gasless ? 'without a fee if the network permits it' : 'never without a fee']),
  ].join(', ');
}

const PRICE_TEXTS: Readonly<Record<Family, (price: bigint) => string>> = {
  EVM: (price) => `gas up to ${formatAmount(price, 9, 0)} gwei`,
  TRON: (price) => `energy up to ${price} sun`,
  SUI: (price) => `gas up to ${price} MIST`,
};

function describeSeller(
  { maxRentPerOrderBaseUnits: order, maxRentPerDayBaseUnits: day }: SweepPolicy,
  coins: (amount: bigint) => string,
): string {
  return `a seller (${coins(order)} coins an order, ${coins(day)} a day)`;
}

function describeAsset(asset: AssetPolicy): string {
  const shown = (amount: bigint) => formatAmount(amount, asset.decimals, asset.displayDecimals);
  const above = asset.approvalAboveBaseUnits;
  const float = asset.floatBaseUnits;
  return [
    `at most ${shown(asset.maxPerPayoutBaseUnits)} a payout`,
    `${shown(asset.maxPerHourBaseUnits)} an hour`,
    `${shown(asset.maxPerDayBaseUnits)} a day`,
    `${shown(asset.maxPerMerchantPerDayBaseUnits)} a day for one merchant`,
    above === undefined ? 'no approval needed' : `approval above ${shown(above)}`,
    ...(float === undefined ? [] : [`float ${shown(float)}`]),
    ...(asset.sweepMinBaseUnits === undefined ? [] : [`swept from ${shown(asset.sweepMinBaseUnits)} on`]),
    `contract ${asset.contract ?? 'none, the native coin'} with ${asset.decimals} decimals`,
  ].join(', ');
}

function receiverLines({ chains, allow, deny, coolingMs }: Policy, now: Date) {
  const families = new Set<Family>([...[...chains.keys()].map(familyOf), ...allow.keys(), ...deny.keys()]);
  return [...families].flatMap((family) => {
    const { format } = CHAIN_FAMILIES[family].addressCodec;
    const denied = [...(deny.get(family) ?? [])];
    const allowed = allow.get(family);
    const first =
      allowed === undefined
        ? `${family} receivers: any${denied.length === 0 ? '' : ' except'}`
        : `${family} receivers: only these, from ${coolingMs / HOUR_MS} hours after they were added`;
    const known = [...(allowed ?? [])].map(([address, { since }]) => {
      const from = new Date(since.getTime() + coolingMs);
      return `  ${format(address)}${from > now ? ` from ${from.toISOString()} on` : ''}`;
    });
    return [first, ...known, ...denied.map((address) => `  ${format(address)} denied`)];
  });
}
