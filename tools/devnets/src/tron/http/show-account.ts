import type { ChainParameters } from '../chain/parameters.ts';
import { bandwidthUsed, energyUsed, freeBandwidthUsed, resourceLimit } from '../chain/resources.ts';
import type { JsonObject } from '../protobuf/json.ts';
import { RESOURCE } from '../protobuf/messages.ts';
import type { Totals, TronAccount } from '../state/records.ts';
import { hex, toBase58 } from '../tron-address.ts';

const WINDOW_MS = 28_800_000;
const SLOT_MS = 3_000;
const SUN_PER_TRX = 1_000_000n;
/** Contract types that a new account's active permission allows in java-tron 4.8.0. */
const ACTIVE_OPERATIONS = '7fff1fc0033e0100000000000000000000000000000000000000000000000000';

/** Response of getaccount, without zero values. */
export function accountToJson(
  account: TronAccount,
  shown: {
    readonly address: Uint8Array;
    readonly balance: bigint;
    readonly slot: number;
    readonly genesisTimeMs: number;
    readonly visible: boolean;
  },
): JsonObject {
  const address = shown.visible ? toBase58(shown.address) : hex(shown.address);
  const key = { address, weight: 1 };
  const isContract = account.kind === 'CONTRACT';
  const [bandwidthStake, energyStake] = account.staked;
  return {
    address,
    ...(isContract ? { type: 'Contract' } : {}),
    ...present({
      balance: shown.balance,
      create_time: account.createdAtMs,
      latest_opration_time: account.lastOperationAtMs,
      net_usage: bandwidthUsed(account, shown.slot),
      free_net_usage: freeBandwidthUsed(account, shown.slot),
      latest_consume_time: account.bandwidthSlot * SLOT_MS,
      latest_consume_free_time: account.freeBandwidthSlot * SLOT_MS,
      delegated_frozenV2_balance_for_bandwidth: account.delegatedOut[RESOURCE.BANDWIDTH],
      acquired_delegated_frozenV2_balance_for_bandwidth: account.delegatedIn[RESOURCE.BANDWIDTH],
    }),
    net_window_size: WINDOW_MS,
    net_window_optimized: true,
    account_resource: {
      ...present({
        energy_usage: energyUsed(account, shown.slot),
        latest_consume_time_for_energy: account.energySlot * SLOT_MS,
        delegated_frozenV2_balance_for_energy: account.delegatedOut[RESOURCE.ENERGY],
        acquired_delegated_frozenV2_balance_for_energy: account.delegatedIn[RESOURCE.ENERGY],
      }),
      energy_window_size: WINDOW_MS,
      energy_window_optimized: true,
    },
    ...(isContract
      ? {}
      : {
          owner_permission: { permission_name: 'owner', threshold: 1, keys: [key] },
          active_permission: [
            {
              type: 'Active',
              id: 2,
              permission_name: 'active',
              threshold: 1,
              operations: ACTIVE_OPERATIONS,
              keys: [key],
            },
          ],
        }),
    frozenV2: [
      present({ amount: bandwidthStake }),
      { type: 'ENERGY', ...present({ amount: energyStake }) },
      { type: 'TRON_POWER' },
    ],
    ...(account.unstaking.length === 0 ? {} : { unfrozenV2: account.unstaking.map(unstakingToJson) }),
  };
}

function unstakingToJson(entry: TronAccount['unstaking'][number]): JsonObject {
  return {
    ...(entry.resource === RESOURCE.ENERGY ? { type: 'ENERGY' } : {}),
    unfreeze_amount: entry.amountSun,
    unfreeze_expire_time: entry.expiresAtMs,
  };
}

export function accountResources(
  account: TronAccount,
  context: { readonly slot: number; readonly totals: Totals; readonly parameters: ChainParameters },
): JsonObject {
  const { slot, totals, parameters } = context;
  const [bandwidthStake, energyStake] = account.staked;
  const stakedSun = bandwidthStake + energyStake + account.delegatedOut[0] + account.delegatedOut[1];
  return present({
    freeNetUsed: freeBandwidthUsed(account, slot),
    freeNetLimit: parameters.freeNetLimit,
    NetUsed: bandwidthUsed(account, slot),
    NetLimit: resourceLimit(account, RESOURCE.BANDWIDTH, totals, parameters),
    TotalNetLimit: parameters.totalNetLimit,
    TotalNetWeight: totals.weights[RESOURCE.BANDWIDTH],
    tronPowerLimit: stakedSun / SUN_PER_TRX,
    EnergyUsed: energyUsed(account, slot),
    EnergyLimit: resourceLimit(account, RESOURCE.ENERGY, totals, parameters),
    TotalEnergyLimit: parameters.totalEnergyCurrentLimit,
    TotalEnergyWeight: totals.weights[RESOURCE.ENERGY],
  });
}

function present(values: Record<string, number | bigint>): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== 0 && value !== 0n));
}
