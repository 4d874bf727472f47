/** What the state holds, by kind. Values are never changed in place. */
export interface StateRecords {
  /** By account key: what TRON keeps of an account beside its balance. */
  readonly account: TronAccount;
  /** By account key: what the EVM keeps of it. */
  readonly evm: EvmAccount;
  /** By account key. */
  readonly code: Uint8Array;
  /** By `<account key>:<slot in hex>`; without leading zeros. */
  readonly storage: Uint8Array;
  /** By account key: how a contract was made and who pays for its energy. */
  readonly contract: ContractRecord;
  /** By account key: a contract's dynamic energy. */
  readonly contractEnergy: ContractEnergy;
  /** By `<from>:<to>:<resource>`. */
  readonly delegation: Delegation;
  /** One record, `chain`. */
  readonly totals: Totals;
}

export type RecordKind = keyof StateRecords;

/** Times of usage are slots (chain time in units of three seconds); usage is as of that slot. */
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
  /** In sun, by resource: own stake that is not lent out, lent out, borrowed. */
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
  /** In sun. */
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
  /** Maintenance cycle that `usage` is of. */
  readonly cycle: number;
  readonly usage: bigint;
  /** In ten thousandths on top of the price: 34000 makes energy 4.4 times as dear. */
  readonly factor: number;
}

export interface Delegation {
  readonly amountSun: bigint;
  readonly lockedUntilMs: number;
}

export interface Totals {
  /** Whole TRX staked by everybody, by resource. */
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
