import type { NetworkConfig } from '@opentill/contracts/network-config';
import { familyOf } from '@opentill/domain/chains';
import { baseUnits, parseAmount, type BaseUnits } from '@opentill/domain/money';
import type { SweepEntry } from './policy-schema.ts';
import type { SweepPolicy } from './policy.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DEFAULTS = { maxCostShare: '0.02', minAgeMinutes: 60, maxAgeHours: 168, batchSize: 20 } as const;
const BPS_DECIMALS = 4;
const PRICE_DECIMALS = 18;
const GWEI_DECIMALS = 9;

export function parseSweep(
  entry: SweepEntry,
  network: Pick<NetworkConfig, 'chain' | 'nativeDecimals' | 'nativeSymbol'>,
  hasColdAddress: boolean,
  mistakes: string[],
): SweepPolicy {
  const at = `/chains/${network.chain}/sweep`;
  const amountOf = (name: keyof SweepEntry, decimals: number, text: string): BaseUnits => {
    const parsed = parseAmount(text, decimals);
    if (parsed.ok) return parsed.value;
    const why = {
      ZERO: 'must not be zero',
      TOO_MANY_DECIMALS: `has more than ${decimals} decimals`,
      NOT_A_NUMBER: 'is not an amount',
    }[parsed.problem];
    mistakes.push(`${at}/${name} ${why}`);
    return baseUnits(0n);
  };
  const family = familyOf(network.chain);
  const isTron = family === 'TRON';
  if (!hasColdAddress) mistakes.push(`${at} needs /chains/${network.chain}/coldAddress`);
  for (const name of ['stake', 'rent'] as const)
    if (entry[name] === true && !isTron) mistakes.push(`${at}/${name} is only for TRON`);
  if (entry.gasless !== undefined && family !== 'SUI') mistakes.push(`${at}/gasless is only for SUI`);
  for (const name of ['maxRentPerOrder', 'maxRentPerDay'] as const)
    if (entry[name] !== undefined && entry.rent !== true) mistakes.push(`${at}/${name} needs rent: true`);
  const minAgeMs = (entry.minAgeMinutes ?? DEFAULTS.minAgeMinutes) * MINUTE_MS;
  const maxAgeMs = (entry.maxAgeHours ?? DEFAULTS.maxAgeHours) * HOUR_MS;
  if (maxAgeMs < minAgeMs) mistakes.push(`${at}/maxAgeHours is less than minAgeMinutes`);
  const { nativeDecimals } = network;
  return {
    nativePrice: {
      units: amountOf('nativePrice', PRICE_DECIMALS, entry.nativePrice),
      scale: PRICE_DECIMALS,
    },
    maxTopUpBaseUnits: amountOf('maxTopUp', nativeDecimals, entry.maxTopUp),
    maxNativePerDayBaseUnits: amountOf('maxNativePerDay', nativeDecimals, entry.maxNativePerDay),
    maxCostBps: Number(amountOf('maxCostShare', BPS_DECIMALS, entry.maxCostShare ?? DEFAULTS.maxCostShare)),
    maxGasPriceBaseUnits:
      entry.maxGasPrice === undefined
        ? undefined
        : amountOf('maxGasPrice', family === 'EVM' ? GWEI_DECIMALS : 0, entry.maxGasPrice),
    minAgeMs,
    maxAgeMs,
    batchSize: entry.batchSize ?? DEFAULTS.batchSize,
    stake: entry.stake ?? false,
    rent: entry.rent ?? false,
    maxRentPerOrderBaseUnits: amountOf(
      'maxRentPerOrder',
      nativeDecimals,
      entry.maxRentPerOrder ?? entry.maxTopUp,
    ),
    maxRentPerDayBaseUnits: amountOf(
      'maxRentPerDay',
      nativeDecimals,
      entry.maxRentPerDay ?? entry.maxNativePerDay,
    ),
    gasless: entry.gasless ?? true,
  };
}
