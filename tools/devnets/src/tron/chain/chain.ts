import type { Transaction } from '../protobuf/messages.ts';
import {
  createCommittedState,
  createState,
  readBefore,
  type CommittedState,
  type State,
  type StateReader,
  type UndoLog,
} from '../state/state.ts';
import { accountKey } from '../tron-address.ts';
import { createTurns, type Turns } from '../turns.ts';
import { createTvm, type Tvm } from '../vm/tvm.ts';
import { createGenesisBlock, createProducers, type Block, type Producer } from './block.ts';
import type { Execution } from './execution.ts';
import { loadChain, writeChain } from './saved-chain.ts';
import { DEFAULT_CHAIN_PARAMETERS, type ChainParameters } from './parameters.ts';

/** Pool transaction whose trial execution succeeded. */
export interface PendingTransaction {
  readonly id: string;
  readonly txid: Uint8Array;
  readonly transaction: Transaction;
  readonly sinceMs: number;
}

/** Complete state of a chain. Only mine-block.ts, broadcast.ts and reorganise.ts change it, one at a time (turns). */
export interface Chain {
  readonly turns: Turns;
  readonly tvm: Tvm;
  readonly parameters: ChainParameters;
  readonly producers: readonly [Producer, ...Producer[]];
  readonly solidLagBlocks: number;
  readonly now: () => number;
  readonly committed: CommittedState;
  readonly blocks: Map<number, Block>;
  readonly numbersById: Map<string, number>;
  readonly transactionPlaces: Map<string, { readonly block: number; readonly index: number }>;
  readonly keepBlocks: number;
  readonly genesis: Block;
  genesisTimeMs: number;
  head: Block;
  solidNumber: number;
  /** Pool in order, and the state after executing it on the head. */
  pending: Map<string, PendingTransaction>;
  pendingState: State;
  reorganisations: number;
}

export interface ChainOptions {
  readonly seed: string;
  readonly solidLagBlocks: number;
  readonly now: () => number;
  readonly parameters?: Partial<ChainParameters>;
  readonly keepBlocks?: number;
  readonly stateFile?: string;
  readonly fillGenesis: (execution: Execution) => Promise<void>;
}

/** More than the maximum age of a reference block, 65,536. */
const KEEP_BLOCKS = 100_000;

export async function createChain(options: ChainOptions): Promise<Chain> {
  const producers = createProducers(options.seed, options.solidLagBlocks);
  const tvm = await createTvm();
  const genesis: Block = { ...createGenesisBlock(producers[0]), undo: undefined };
  const saved = options.stateFile === undefined ? undefined : loadChain(options.stateFile, genesis.id);
  const parameters = { ...DEFAULT_CHAIN_PARAMETERS, ...saved?.parameters, ...options.parameters };
  const committed = createCommittedState(saved?.values);
  if (saved === undefined) {
    const state = createState(committed);
    await options.fillGenesis({
      state,
      parameters,
      tvm,
      head: { number: 0, timestampMs: 0 },
      block: { number: 0, timestampMs: 0 },
      producerKey: accountKey(producers[0].address),
      genesisTimeMs: 0,
    });
    committed.commit(state.changes);
  }
  const blocks = saved?.blocks ?? [genesis];
  return {
    turns: createTurns(),
    tvm,
    parameters,
    producers,
    solidLagBlocks: options.solidLagBlocks,
    now: options.now,
    committed,
    blocks: new Map(blocks.map((block) => [block.number, block])),
    numbersById: new Map(blocks.map((block) => [block.id, block.number])),
    transactionPlaces: new Map(
      blocks.flatMap((block) =>
        block.transactions.map(({ id }, index) => [id, { block: block.number, index }] as const),
      ),
    ),
    keepBlocks: options.keepBlocks ?? KEEP_BLOCKS,
    genesis,
    genesisTimeMs: saved?.genesisTimeMs ?? 0,
    head: blocks.at(-1) ?? genesis,
    solidNumber: saved?.solidNumber ?? 0,
    pending: new Map(),
    pendingState: createState(committed),
    reorganisations: saved?.reorganisations ?? 0,
  };
}

/** Producer of a height. Reorganisations shift it, so that replaced blocks get other ids. */
export function producerOf(chain: Chain, number: number): Producer {
  const index = (number + chain.reorganisations) % chain.producers.length;
  return chain.producers[index] ?? chain.producers[0];
}

export function executionOn(chain: Chain, state: State, block: Execution['block']): Execution {
  return {
    state,
    parameters: chain.parameters,
    tvm: chain.tvm,
    head: chain.head,
    block,
    producerKey: accountKey(producerOf(chain, chain.head.number + 1).address),
    genesisTimeMs: chain.genesisTimeMs,
  };
}

/** State at a block. Throws an Error below the solidified block. */
export function stateAt(chain: Chain, number: number): StateReader {
  const later: UndoLog[] = [];
  for (let at = number + 1; at <= chain.head.number; at++) {
    const undo = chain.blocks.get(at)?.undo;
    if (undo === undefined) throw new Error(`the state of block ${number} is not kept`);
    later.push(undo);
  }
  return later.length === 0 ? chain.committed : readBefore(chain.committed, later);
}

/** Writes the chain to `stateFile` after running changes. Throws a system error. */
export async function saveChain(chain: Chain, file: string): Promise<void> {
  const { solidNumber, genesisTimeMs, reorganisations, parameters } = chain;
  await chain.turns.take(() => {
    const blocks = [...chain.blocks.values()].toSorted((a, b) => a.number - b.number);
    const values = chain.committed.values();
    writeChain({ values, blocks, solidNumber, genesisTimeMs, reorganisations, parameters }, file);
  });
}
