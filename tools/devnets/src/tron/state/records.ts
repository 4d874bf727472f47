export interface StateRecords {
  /** By account key: account data other than its balance. */
  readonly account: TronAccount;
  /** By account key: the EVM's account data. */
  readonly evm: EvmAccount;
  /** By account key. */
  readonly code: Uint8Array;
  /** By `<account key>:<slot in hex>`; values have no leading zeros. */
  readonly storage: Uint8Array;
  /** By account key: a contract's creation and energy terms. */
  readonly contract: ContractRecord;
  /** By account key. */
  readonly contractEnergy: ContractEnergy;
  /** By `<from>:<to>:<resource>`. */
  readonly delegation: Delegation;
  /** Single record with the key `chain`. */
  readonly totals: Totals;
}

export type RecordKind = keyof StateRecords;

/** Usage times are slots (three seconds of chain time); usage amounts are as of that slot. */
export interface TronAccount {
  readonly kind: 'NORMAL' | 'CONTRACT';
  readonly createdAtMs: number;
  readonly lastOperationAtMs: number;
  readonly freeBandwidthUsed: number;
  readonly freeBandwidthSlot: number;
  readonly bandwidthUsed: number;
  readonly bandwidthSlot: number;
  readonly energyUsed: number;
  readonly energySlot: number;
  /** In sun, by resource: own stake not delegated, delegated to others, received. */
  readonly staked: PerResource;
  readonly delegatedOut: PerResource;
  readonly delegatedIn: PerResource;
  readonly unstaking: readonly {
    readonly resource: number;
    readonly amountSun: bigint;
    readonly expiresAtMs: number;
  }[];
}

/** `[bandwidth, energy]`, indexed by ResourceCode. */
export type PerResource = readonly [bigint, bigint];

export interface EvmAccount {
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly codeHash: Uint8Array;
}

export interface ContractRecord {
  readonly originKey: string;
  readonly userPercent: number;
  readonly originEnergyLimit: bigint;
  readonly name: string;
  readonly abi: object | undefined;
  readonly bytecode: Uint8Array;
  readonly createdBy: Uint8Array;
}

export interface ContractEnergy {
  /** Maintenance cycle in which `usage` accrued. */
  readonly cycle: number;
  readonly usage: bigint;
  /** In 1/10,000 above 1: 34,000 makes energy 4.4 times as expensive. */
  readonly factor: number;
}

export interface Delegation {
  readonly amountSun: bigint;
  readonly lockedUntilMs: number;
}

export interface Totals {
  /** Whole TRX staked on the network, by resource. */
  readonly weights: PerResource;
  readonly burnedSun: bigint;
}

export function newAccount(kind: TronAccount['kind'], createdAtMs: number): TronAccount {
  return {
    kind,
    createdAtMs,
    lastOperationAtMs: 0,
    freeBandwidthUsed: 0,
    freeBandwidthSlot: 0,
    bandwidthUsed: 0,
    bandwidthSlot: 0,
    energyUsed: 0,
    energySlot: 0,
    staked: [0n, 0n],
    delegatedOut: [0n, 0n],
    delegatedIn: [0n, 0n],
    unstaking: [],
  };
}

export function withResource(amounts: PerResource, resource: number, change: bigint): PerResource {
  return resource === 1 ? [amounts[0], amounts[1] + change] : [amounts[0] + change, amounts[1]];
}

export function resourceOf(amounts: PerResource, resource: number): bigint {
  return resource === 1 ? amounts[1] : amounts[0];
}
