// From tronprotocol/protocol, core/Tron.proto and core/contract/*.proto. `address` is `bytes` on the wire.
const PROTOCOL = `
enum ContractType { AccountCreateContract = 0; TransferContract = 1; TransferAssetContract = 2;
  CreateSmartContract = 30; TriggerSmartContract = 31; AccountPermissionUpdateContract = 46; FreezeBalanceV2Contract = 54;
  UnfreezeBalanceV2Contract = 55; WithdrawExpireUnfreezeContract = 56; DelegateResourceContract = 57;
  UnDelegateResourceContract = 58; CancelAllUnfreezeV2Contract = 59; }
enum ResultCode { SUCESS = 0; FAILED = 1; }
enum ContractResult { DEFAULT = 0; SUCCESS = 1; REVERT = 2; BAD_JUMP_DESTINATION = 3; OUT_OF_MEMORY = 4;
  PRECOMPILED_CONTRACT = 5; STACK_TOO_SMALL = 6; STACK_TOO_LARGE = 7; ILLEGAL_OPERATION = 8; STACK_OVERFLOW = 9;
  OUT_OF_ENERGY = 10; OUT_OF_TIME = 11; JVM_STACK_OVER_FLOW = 12; UNKNOWN = 13; TRANSFER_FAILED = 14; INVALID_CODE = 15; }
enum ResourceCode { BANDWIDTH = 0; ENERGY = 1; TRON_POWER = 2; }
enum AccountType { Normal = 0; AssetIssue = 1; Contract = 2; }
enum EntryType { UnknownEntryType = 0; Constructor = 1; Function = 2; Event = 3; Fallback = 4; Receive = 5; Error = 6; }
enum StateMutability { UnknownMutabilityType = 0; Pure = 1; View = 2; Nonpayable = 3; Payable = 4; }

message Transaction { RawData raw_data = 1; repeated bytes signature = 2; repeated Result ret = 5; }
message RawData { bytes ref_block_bytes = 1; int64 ref_block_num = 3; bytes ref_block_hash = 4; int64 expiration = 8;
  bytes data = 10; repeated ContractCall contract = 11; bytes scripts = 12; int64 timestamp = 14; int64 fee_limit = 18; }
message ContractCall { ContractType type = 1; Any parameter = 2; bytes provider = 3; bytes ContractName = 4;
  int32 Permission_id = 5; }
message Any { string type_url = 1; bytes value = 2; }
message Result { int64 fee = 1; ResultCode ret = 2; ContractResult contractRet = 3; }

message TransferContract { address owner_address = 1; address to_address = 2; int64 amount = 3; }
message AccountCreateContract { address owner_address = 1; address account_address = 2; AccountType type = 3; }
message TriggerSmartContract { address owner_address = 1; address contract_address = 2; int64 call_value = 3;
  bytes data = 4; int64 call_token_value = 5; int64 token_id = 6; }
message CreateSmartContract { address owner_address = 1; SmartContract new_contract = 2; int64 call_token_value = 3;
  int64 token_id = 4; }
message SmartContract { address origin_address = 1; address contract_address = 2; Abi abi = 3; bytes bytecode = 4;
  int64 call_value = 5; int64 consume_user_resource_percent = 6; string name = 7; int64 origin_energy_limit = 8;
  bytes code_hash = 9; bytes trx_hash = 10; int32 version = 11; }
message Abi { repeated AbiEntry entrys = 1; }
message AbiEntry { bool anonymous = 1; bool constant = 2; string name = 3; repeated AbiParameter inputs = 4;
  repeated AbiParameter outputs = 5; EntryType type = 6; bool payable = 7; StateMutability stateMutability = 8; }
message AbiParameter { bool indexed = 1; string name = 2; string type = 3; }
message FreezeBalanceV2Contract { address owner_address = 1; int64 frozen_balance = 2; ResourceCode resource = 3; }
message UnfreezeBalanceV2Contract { address owner_address = 1; int64 unfreeze_balance = 2; ResourceCode resource = 3; }
message WithdrawExpireUnfreezeContract { address owner_address = 1; }
message CancelAllUnfreezeV2Contract { address owner_address = 1; }
message DelegateResourceContract { address owner_address = 1; ResourceCode resource = 2; int64 balance = 3;
  address receiver_address = 4; bool lock = 5; int64 lock_period = 6; }
message UnDelegateResourceContract { address owner_address = 1; ResourceCode resource = 2; int64 balance = 3;
  address receiver_address = 4; }

message BlockHeader { HeaderRaw raw_data = 1; bytes witness_signature = 2; }
message HeaderRaw { int64 timestamp = 1; bytes txTrieRoot = 2; bytes parentHash = 3; int64 number = 7;
  int64 witness_id = 8; address witness_address = 9; int32 version = 10; bytes accountStateRoot = 11; }

message TransactionInfo { bytes id = 1; int64 fee = 2; int64 blockNumber = 3; int64 blockTimeStamp = 4;
  repeated bytes contractResult = 5; address contract_address = 6; ResourceReceipt receipt = 7; repeated Log log = 8;
  ResultCode result = 9; bytes resMessage = 10; int64 withdraw_amount = 15; int64 unfreeze_amount = 16;
  repeated InternalTransaction internal_transactions = 17; int64 packingFee = 27; int64 withdraw_expire_amount = 28; }
message ResourceReceipt { int64 energy_usage = 1; int64 energy_fee = 2; int64 origin_energy_usage = 3;
  int64 energy_usage_total = 4; int64 net_usage = 5; int64 net_fee = 6; ContractResult result = 7;
  int64 energy_penalty_total = 8; }
message Log { address address = 1; repeated bytes topics = 2; bytes data = 3; }
message InternalTransaction { bytes hash = 1; address caller_address = 2; address transferTo_address = 3;
  repeated CallValueInfo callValueInfo = 4; bytes note = 5; bool rejected = 6; string extra = 7; }
message CallValueInfo { int64 callValue = 1; string tokenId = 2; }
`;

export type ScalarType = 'address' | 'bytes' | 'string' | 'int64' | 'int32' | 'bool';

export interface Field {
  readonly name: string;
  readonly number: number;
  readonly repeated: boolean;
  readonly type: string;
  readonly kind: ScalarType | 'enum' | 'message';
}

export interface MessageSchema {
  /** Sorted by number, which is the order on the wire. */
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
}

export interface EnumSchema {
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
}

const SCALARS: readonly string[] = ['address', 'bytes', 'string', 'int64', 'int32', 'bool'];

const { messages, enums } = parseProtocol(PROTOCOL);

export function messageSchema(type: string): MessageSchema {
  const schema = messages.get(type);
  if (schema === undefined) throw new Error(`no message ${type}`);
  return schema;
}

export function isMessage(type: string): boolean {
  return messages.has(type);
}

export function enumSchema(type: string): EnumSchema {
  const schema = enums.get(type);
  if (schema === undefined) throw new Error(`no enum ${type}`);
  return schema;
}

function parseProtocol(text: string): {
  messages: Map<string, MessageSchema>;
  enums: Map<string, EnumSchema>;
} {
  const blocks = [...text.matchAll(/(enum|message) (\w+) \{([^}]*)\}/g)];
  const enumsByName = new Map<string, EnumSchema>();
  const messagesByName = new Map<string, MessageSchema>();
  for (const [, kind, name = '', body = ''] of blocks) {
    if (kind !== 'enum') continue;
    const numbers = new Map([...body.matchAll(/(\w+) = (\d+);/g)].map((m) => [m[1] ?? '', Number(m[2])]));
    enumsByName.set(name, { numbers, names: new Map([...numbers].map(([key, value]) => [value, key])) });
  }
  for (const [, kind, name = '', body = ''] of blocks) {
    if (kind !== 'message') continue;
    const fields = [...body.matchAll(/(repeated )?(\w+) (\w+) = (\d+);/g)].map((m): Field => {
      const type = m[2] ?? '';
      const kindOfType = SCALARS.includes(type)
        ? (type as ScalarType)
        : enumsByName.has(type)
          ? 'enum'
          : 'message';
      return {
        name: m[3] ?? '',
        number: Number(m[4]),
        repeated: m[1] !== undefined,
        type,
        kind: kindOfType,
      };
    });
    fields.sort((a, b) => a.number - b.number);
    messagesByName.set(name, { fields, byNumber: new Map(fields.map((field) => [field.number, field])) });
  }
  return { messages: messagesByName, enums: enumsByName };
}
