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
  /** @default 0 for a free port */
  readonly port?: number;
  /** The accounts' keys are public. @default 127.0.0.1 */
  readonly host?: string;
  /** Wall time between blocks. 0: only on request (`control.mine`), three seconds of chain time apart. */
  readonly blockTimeMs: number;
  /** Blocks between the solidified block and the head. @default 18, as with 27 producers */
  readonly solidLagBlocks?: number;
  /** Epoch ms of the chain's start; chain time then advances with the clock. @default now */
  readonly genesisTimeMs?: number;
  /** Determines accounts, tokens and chain id. */
  readonly seed?: string;
  readonly parameters?: Partial<ChainParameters>;
  /** Whole TRX staked by the rest of the network: bandwidth, energy. @default about Mainnet's */
  readonly stakedTrx?: readonly [bigint, bigint];
  /** Older blocks are deleted. @default 100,000, more than the maximum age of a reference block */
  readonly keepBlocks?: number;
  /** Continues the chain in this file if it exists, and writes it on close, without the pool. */
  readonly stateFile?: string;
  readonly log?: (line: string) => void;
}

export interface TronDevnet {
  readonly url: string;
  /** `0x` and the last 4 bytes of block 0's id. */
  readonly chainId: string;
  /** Each has 100 million TRX and 10^9 of each token. */
  readonly accounts: readonly TronDevAccount[];
  /** Base58 addresses of tokens with six decimals. */
  readonly tokens: Readonly<Record<DevTokenSymbol, string>>;
  readonly control: TronControl;
  /** Internal state for measurements. Tests use the API. */
  readonly chain: Chain;
  close(): Promise<void>;
}

export type { DevTokenSymbol };

export const DEFAULT_SEED = 'opentill devnet';
const DEFAULT_SOLID_LAG_BLOCKS = 18;
const ACCOUNTS = 10;
const SLOT_MS = 3_000;
const MAINNET_STAKED_TRX = [27_000_000_000n, 19_000_000_000n] as const;

/** Mines empty blocks until block 1 is solidified. Throws EADDRINUSE and GatewayError<SavedChainErrorCode>. */
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
    onError: (error) => log(`mining a block failed: ${error instanceof Error ? error.stack : String(error)}`),
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
