import { createChain, saveChain, type Chain } from './chain/chain.ts';
import type { ChainParameters } from './chain/parameters.ts';
import { mineBlock } from './chain/mine-block.ts';
import { createClock } from './clock.ts';
import { createControl, type TronControl } from './control.ts';
import { devAccounts, type TronDevAccount } from './dev-accounts.ts';
import { devTokenAddresses, fillGenesis, type DevTokenSymbol } from './genesis.ts';
import { createFaults } from './http/faults.ts';
import { serveNode, stopServing } from './http/serve.ts';
import { createMining } from './mining.ts';
import { runControl } from './run-control.ts';

export type { TronDevAccount } from './dev-accounts.ts';
export type { TronControl } from './control.ts';

export interface TronDevnetOptions {
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default 127.0.0.1: the accounts' keys are everybody's. */
  readonly host?: string;
  /**
   * Wall time between two blocks, which bear the clock's time; 0: blocks come only when told (mine), each three seconds
   * of chain time after the one before, whatever the clock says.
   */
  readonly blockTimeMs: number;
  /** How far the solidified block is behind the head. Default 18, as where 27 producers take turns. */
  readonly solidLagBlocks?: number;
  /** Chain time at the start, epoch ms; default: now. It goes on with the clock. */
  readonly genesisTimeMs?: number;
  /** Names accounts, tokens and the chain (its id); the same seed gives the same. */
  readonly seed?: string;
  /** Other chain parameters than those of 2026. */
  readonly parameters?: Partial<ChainParameters>;
  /** Whole TRX staked by the rest of the world: bandwidth, energy. Default: about as much as on mainnet. */
  readonly stakedTrx?: readonly [bigint, bigint];
  /** Older blocks are forgotten. Default 100,000: more than a reference block may be back. */
  readonly keepBlocks?: number;
  /** Goes on with the chain in this file, if there is one, and writes it when closed (what waits in the pool is lost). */
  readonly stateFile?: string;
  readonly log?: (line: string) => void;
}

/** A running TRON node with a chain of its own. */
export interface TronDevnet {
  /** Base URL: `wallet/…` and `walletsolidity/…` and `devnet/…` are below it. */
  readonly url: string;
  /** `0x` and the last 4 bytes of block 0's id. */
  readonly chainId: string;
  /** Each with 100 million TRX and a billion of each token. */
  readonly accounts: readonly TronDevAccount[];
  /** Base58, six decimals. */
  readonly tokens: Readonly<Record<DevTokenSymbol, string>>;
  readonly control: TronControl;
  /** The chain itself, for measurements; tests use the API. */
  readonly chain: Chain;
  close(): Promise<void>;
}

export type { DevTokenSymbol };

/** Of a devnet that is given none. */
export const DEFAULT_SEED = 'opentill devnet';
const DEFAULT_SOLID_LAG_BLOCKS = 18;
const ACCOUNTS = 10;
/** Spacing of the blocks that the chain starts with. */
const SLOT_MS = 3_000;
const MAINNET_STAKED_TRX = [27_000_000_000n, 19_000_000_000n] as const;

/**
 * Starts a TRON node. It begins with as many empty blocks as the solidified block is behind, so that block 1 is
 * solidified. Throws a system error (EADDRINUSE) where the port is taken, and
 * GatewayError<SavedChainErrorCode>.
 */
export async function startTronDevnet(options: TronDevnetOptions): Promise<TronDevnet> {
  const { seed = DEFAULT_SEED, host = '127.0.0.1', log = () => {}, stateFile } = options;
  const solidLagBlocks = options.solidLagBlocks ?? DEFAULT_SOLID_LAG_BLOCKS;
  const clock = createClock(options.genesisTimeMs);
  const accounts = devAccounts(seed, ACCOUNTS) as [TronDevAccount, ...TronDevAccount[]];
  const tokens = devTokenAddresses(seed, accounts[0]);
  const chain = await createChain({
    seed,
    solidLagBlocks,
    now: clock.now,
    ...(stateFile !== undefined && { stateFile }),
    ...(options.keepBlocks !== undefined && { keepBlocks: options.keepBlocks }),
    ...(options.parameters && { parameters: options.parameters }),
    fillGenesis: async (execution) =>
      fillGenesis(execution, { seed, accounts, stakedTrx: options.stakedTrx ?? MAINNET_STAKED_TRX }),
  });
  if (chain.head.number === 0) await makeFirstBlocks(chain, solidLagBlocks + 1);
  const mining = createMining(chain, {
    blockTimeMs: options.blockTimeMs,
    onError: (error) =>
      log(`block could not be made: ${error instanceof Error ? error.stack : String(error)}`),
  });
  const faults = createFaults();
  const control = createControl({
    chain,
    mining,
    clock,
    faults,
    accounts,
    tokens,
    nextTimestamp: countUp(clock.now),
  });
  const { server, url } = await serveNode({
    chain,
    faults,
    host,
    port: options.port ?? 0,
    runControl: async (name, body) => runControl(control, name, body),
  });
  log(`TRON devnet at ${url}`);
  return {
    url,
    chainId: `0x${chain.genesis.id.slice(-8)}`,
    accounts,
    tokens,
    control,
    chain,
    close: async () => {
      await mining.stop();
      await stopServing(server);
      if (stateFile !== undefined) await saveChain(chain, stateFile);
    },
  };
}

/** The time, but always more than the last one. */
function countUp(now: () => number): () => number {
  let last = 0;
  return () => {
    last = Math.max(now(), last + 1);
    return last;
  };
}

async function makeFirstBlocks(chain: Chain, count: number): Promise<void> {
  const last = Math.floor(chain.now() / SLOT_MS) * SLOT_MS;
  for (let left = count - 1; left >= 0; left--) await mineBlock(chain, last - left * SLOT_MS);
}
