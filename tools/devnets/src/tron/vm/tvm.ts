import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { createEVM, paramsEVM, type EVM, type EVMRunCallOpts, type Message } from '@ethereumjs/evm';
import { Address } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { createEvmState, type EvmState } from '../state/evm-state.ts';
import type { State } from '../state/state.ts';

// Costs in java-tron's EnergyCost.java that differ from the EVM's (Petersburg and PUSH0).
const TVM_PRICES: Readonly<Record<string, number>> = {
  sloadGas: 50,
  callGas: 40,
  callcodeGas: 40,
  delegatecallGas: 40,
  staticcallGas: 40,
  balanceGas: 20,
  extcodesizeGas: 20,
  extcodecopyGas: 20,
  extcodehashGas: 400,
  selfdestructGas: 0,
  expByteGas: 10,
  mloadGas: 1,
  mstoreGas: 1,
  mstore8Gas: 1,
  codecopyGas: 0,
  calldatacopyGas: 0,
  returndatacopyGas: 0,
};

export interface TvmCall {
  readonly state: State;
  readonly from: string;
  /** undefined creates a contract. */
  readonly to: string | undefined;
  /** 21 bytes; determines a created contract's address together with `txid`. */
  readonly ownerAddress: Uint8Array;
  readonly txid: Uint8Array;
  readonly data: Uint8Array;
  readonly valueSun: bigint;
  readonly energyLimit: bigint;
  readonly block: { readonly number: number; readonly timestampMs: number; readonly producerKey: string };
}

export interface TvmResult {
  /** Without refunds, which TRON does not have. */
  readonly energyUsed: bigint;
  readonly returned: Uint8Array;
  readonly error: string | undefined;
  readonly logs: readonly { address: Uint8Array; topics: Uint8Array[]; data: Uint8Array }[];
  readonly internal: readonly InternalCall[];
  readonly destroyed: readonly string[];
}

export interface InternalCall {
  readonly fromKey: string;
  readonly toKey: string | undefined;
  readonly valueSun: bigint;
  readonly note: 'call' | 'create';
}

/** Supports one call at a time; callers use turns.ts. */
export interface Tvm {
  run(call: TvmCall): Promise<TvmResult>;
  /** Repeats a call that ran out of energy to find the failing operation. Leaves the state unchanged. */
  findLastOperation(call: TvmCall): Promise<{ name: string; cost: bigint; usedBefore: bigint } | undefined>;
}

export async function createTvm(): Promise<Tvm> {
  const state = createEvmState();
  const common = new Common({ chain: Mainnet, hardfork: Hardfork.Petersburg, eips: [3855] });
  const evm = await createEVM({
    common,
    stateManager: state,
    params: tvmParams(),
    allowUnlimitedContractSize: true,
  });
  const root = placeContractsAsTron(evm);

  return {
    async run(call) {
      root.begin(call);
      return runCall(evm, state, call);
    },
    async findLastOperation(call) {
      let last: { name: string; cost: bigint; usedBefore: bigint } | undefined;
      const onStep: Parameters<typeof evm.events.on<'step'>>[1] = (step, next) => {
        const usedBefore = call.energyLimit - step.gasLeft;
        const { name, dynamicFee, fee } = step.opcode;
        last = { name, cost: dynamicFee ?? BigInt(fee), usedBefore };
        next?.();
      };
      const mark = call.state.mark();
      evm.events.on('step', onStep);
      try {
        root.begin(call);
        await runCall(evm, state, call);
        return last;
      } finally {
        evm.events.off('step', onStep);
        call.state.revertTo(mark);
      }
    },
  };
}

function tvmParams(): typeof paramsEVM {
  const params = structuredClone(paramsEVM);
  for (const prices of Object.values(params)) {
    for (const [name, price] of Object.entries(TVM_PRICES)) if (name in prices) prices[name] = price;
  }
  return params;
}

/** Addresses depend on transaction id and owner; nested ones on id and counter. CREATE2 uses 0x41 instead of 0xff. */
function placeContractsAsTron(evm: EVM): { begin(call: TvmCall): void } {
  let txid: Uint8Array = new Uint8Array(32);
  let owner: Uint8Array = new Uint8Array(21);
  let created = 0n;
  const hooks = evm as unknown as { _generateAddress(message: Message): Promise<Address> };
  hooks._generateAddress = async (message) => {
    const parts: Uint8Array[] =
      message.salt !== undefined
        ? [Uint8Array.of(0x41), message.caller.bytes, message.salt, keccak_256(message.code as Uint8Array)]
        : message.depth === 0
          ? [txid, owner]
          : [txid, int64Bytes(++created)];
    return new Address(keccak_256(Buffer.concat(parts)).slice(12));
  };
  return {
    begin(call) {
      txid = call.txid;
      owner = call.ownerAddress;
      created = 0n;
    },
  };
}

async function runCall(evm: EVM, state: EvmState, call: TvmCall): Promise<TvmResult> {
  const internal: InternalCall[] = [];
  const onMessage = (message: Message, next?: () => void): void => {
    if (message.depth > 0) {
      const toKey = message.to && Buffer.from(message.to.bytes).toString('hex');
      const note = message.to === undefined ? 'create' : 'call';
      internal.push({
        fromKey: Buffer.from(message.caller.bytes).toString('hex'),
        toKey,
        valueSun: message.value,
        note,
      });
    }
    next?.();
  };
  evm.events.on('beforeMessage', onMessage);
  try {
    state.use(call.state);
    const result = await evm.runCall(callOptions(call));
    await evm.journal.cleanup();
    const { exceptionError, executionGasUsed, returnValue, logs, selfdestruct } = result.execResult;
    return {
      energyUsed: executionGasUsed,
      returned: returnValue,
      error: exceptionError === undefined ? undefined : String(exceptionError.error),
      logs: (logs ?? []).map(([address, topics, data]) => ({ address, topics, data })),
      internal,
      destroyed: [...(selfdestruct?.keys() ?? [])].map((address) => address.replace(/^0x/, '')),
    };
  } finally {
    evm.events.off('beforeMessage', onMessage);
  }
}

function callOptions(call: TvmCall): EVMRunCallOpts {
  const zero = new Uint8Array(32);
  return {
    caller: addressOf(call.from),
    ...(call.to === undefined ? {} : { to: addressOf(call.to) }),
    data: call.data,
    value: call.valueSun,
    gasLimit: call.energyLimit,
    skipNonceIncrement: true,
    block: {
      header: {
        number: BigInt(call.block.number),
        coinbase: addressOf(call.block.producerKey),
        timestamp: BigInt(Math.floor(call.block.timestampMs / 1000)),
        difficulty: 0n,
        prevRandao: zero,
        gasLimit: 0n,
        baseFeePerGas: 0n,
        getBlobGasPrice: () => undefined,
      },
    } as unknown as NonNullable<EVMRunCallOpts['block']>,
  };
}

function addressOf(key: string): Address {
  return new Address(new Uint8Array(Buffer.from(key, 'hex')));
}

function int64Bytes(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
