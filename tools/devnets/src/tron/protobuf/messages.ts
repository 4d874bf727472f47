// Fields have java-tron's JSON names. Proto3 defaults (zero, empty, false) are absent. int64 is bigint.

export interface Transaction {
  readonly raw_data: RawData;
  readonly signature?: readonly Uint8Array[];
  readonly ret?: readonly { readonly contractRet?: number }[];
}

export interface RawData {
  readonly ref_block_bytes?: Uint8Array;
  readonly ref_block_hash?: Uint8Array;
  /** Epoch ms. */
  readonly expiration?: bigint;
  readonly data?: Uint8Array;
  readonly contract?: readonly ContractCall[];
  readonly timestamp?: bigint;
  readonly fee_limit?: bigint;
}

export interface ContractCall {
  readonly type?: number;
  readonly parameter?: { readonly type_url?: string; readonly value?: Uint8Array };
  readonly Permission_id?: number;
}

export interface TransferContract {
  readonly owner_address?: Uint8Array;
  readonly to_address?: Uint8Array;
  readonly amount?: bigint;
}

export interface AccountCreateContract {
  readonly owner_address?: Uint8Array;
  readonly account_address?: Uint8Array;
}

export interface TriggerSmartContract {
  readonly owner_address?: Uint8Array;
  readonly contract_address?: Uint8Array;
  readonly call_value?: bigint;
  readonly data?: Uint8Array;
  readonly call_token_value?: bigint;
  readonly token_id?: bigint;
}

export interface CreateSmartContract {
  readonly owner_address?: Uint8Array;
  readonly new_contract?: SmartContract;
}

export interface SmartContract {
  readonly origin_address?: Uint8Array;
  readonly contract_address?: Uint8Array;
  readonly abi?: object;
  readonly bytecode?: Uint8Array;
  readonly call_value?: bigint;
  readonly consume_user_resource_percent?: bigint;
  readonly name?: string;
  readonly origin_energy_limit?: bigint;
  readonly code_hash?: Uint8Array;
  readonly trx_hash?: Uint8Array;
  readonly version?: number;
}

export interface StakeContract {
  readonly owner_address?: Uint8Array;
  readonly receiver_address?: Uint8Array;
  readonly frozen_balance?: bigint;
  readonly unfreeze_balance?: bigint;
  readonly balance?: bigint;
  readonly resource?: number;
  readonly lock?: boolean;
  readonly lock_period?: bigint;
}

export interface BlockHeader {
  readonly raw_data: HeaderRaw;
  readonly witness_signature: Uint8Array;
}

export interface HeaderRaw {
  readonly timestamp: bigint;
  readonly txTrieRoot: Uint8Array;
  readonly parentHash: Uint8Array;
  readonly number: bigint;
  readonly witness_address: Uint8Array;
  readonly version: number;
}

export interface TransactionInfo {
  readonly id: Uint8Array;
  readonly fee?: bigint;
  readonly blockNumber?: bigint;
  readonly blockTimeStamp?: bigint;
  readonly contractResult: readonly Uint8Array[];
  readonly contract_address?: Uint8Array;
  readonly receipt: ResourceReceipt;
  readonly log?: readonly Log[];
  readonly result?: number;
  readonly resMessage?: Uint8Array;
  readonly withdraw_expire_amount?: bigint;
  readonly unfreeze_amount?: bigint;
  readonly internal_transactions?: readonly InternalTransaction[];
}

export interface ResourceReceipt {
  readonly energy_usage?: bigint;
  readonly energy_fee?: bigint;
  readonly origin_energy_usage?: bigint;
  readonly energy_usage_total?: bigint;
  readonly net_usage?: bigint;
  readonly net_fee?: bigint;
  readonly result?: number;
  readonly energy_penalty_total?: bigint;
}

export interface Log {
  readonly address: Uint8Array;
  readonly topics: readonly Uint8Array[];
  readonly data: Uint8Array;
}

export interface InternalTransaction {
  readonly hash: Uint8Array;
  readonly caller_address: Uint8Array;
  readonly transferTo_address?: Uint8Array;
  readonly callValueInfo: readonly { readonly callValue?: bigint }[];
  readonly note: Uint8Array;
  readonly rejected?: boolean;
}

export const CONTRACT_RESULT = {
  SUCCESS: 1,
  REVERT: 2,
  BAD_JUMP_DESTINATION: 3,
  STACK_TOO_SMALL: 6,
  STACK_TOO_LARGE: 7,
  ILLEGAL_OPERATION: 8,
  OUT_OF_ENERGY: 10,
  UNKNOWN: 13,
  TRANSFER_FAILED: 14,
  INVALID_CODE: 15,
} as const;

export const RESOURCE = { BANDWIDTH: 0, ENERGY: 1 } as const;
