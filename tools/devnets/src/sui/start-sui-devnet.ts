import { createClock } from '../tron/clock.ts';
import type { Chain } from './chain/chain.ts';
import {
  GASLESS_MINIMUM_BASE_UNITS,
  GASLESS_TRANSACTIONS_PER_CHECKPOINT,
  MAINNET_GAS_PRICE_MIST,
} from './chain/parameters.ts';
import { loadChain, writeChain } from './chain/saved-chain.ts';
import { createCheckpointing } from './checkpointing.ts';
import { createControl, type SuiControl } from './control.ts';
import { devAccounts, devKeypair, type SuiDevAccount } from './dev-accounts.ts';
import { createGenesisChain, devTokenTypes, type DevTokenSymbol } from './genesis.ts';
import { openNode, type SuiNode } from './open-node.ts';
import { runControl } from './run-control.ts';

export type { SuiControl } from './control.ts';
export type { SuiDevAccount } from './dev-accounts.ts';
export type { DevTokenSymbol } from './genesis.ts';
export type { SuiFault } from './grpc/faults.ts';
export type { SuiNode } from './open-node.ts';

export interface SuiDevnetOptions {
  /** @default 0 for a free port */
  readonly port?: number;
  /** The accounts' keys are public. @default 127.0.0.1 */
  readonly host?: string;
  /** Wall time between checkpoints. 0: only on request (`control.checkpoint`), 250 ms of chain time apart. */
  readonly checkpointMs: number;
  /** Delay of a transaction's execution, during which its objects are locked. @default 0 */
  readonly consensusMs?: number;
  /** Epoch ms of checkpoint 1; chain time then advances with the clock. @default now */
  readonly genesisTimeMs?: number;
  /** Determines accounts, tokens and chain id. */
  readonly seed?: string;
  /** Tokens that can be transferred without gas. @default USDC, as on Mainnet */
  readonly gasless?: readonly DevTokenSymbol[];
  /** MIST per unit. @default 500 */
  readonly referenceGasPrice?: bigint;
  /** Older checkpoints are deleted. @default 20,000, more than an hour */
  readonly keepCheckpoints?: number;
  /** Continues the chain in this file if it exists, and writes it on close. */
  readonly stateFile?: string;
  readonly log?: (line: string) => void;
}

export interface SuiDevnet {
  readonly url: string;
  readonly chainId: string;
  /** Each has 10^7 SUI and 10^9 of each token, half in address balances. Every second key is secp256k1. */
  readonly accounts: readonly SuiDevAccount[];
  /** Canonical coin types with six decimals. */
  readonly tokens: Readonly<Record<DevTokenSymbol, string>>;
  readonly control: SuiControl;
  /** Internal state for measurements. Tests use the API. */
  readonly chain: Chain;
  close(): Promise<void>;
}

const DEFAULT_SEED = 'opentill devnet';
const ACCOUNTS = 10;
const KEEP_CHECKPOINTS = 20_000;

/** Throws a system error (EADDRINUSE) if the port is taken, and GatewayError<SavedSuiChainErrorCode>. */
export async function startSuiDevnet(options: SuiDevnetOptions): Promise<SuiDevnet> {
  const { seed = DEFAULT_SEED, host = '127.0.0.1', consensusMs = 0, log = () => {}, stateFile } = options;
  const accounts = devAccounts(seed, ACCOUNTS);
  const tokens = devTokenTypes(seed);
  const fresh = createGenesisChain({
    seed,
    accounts,
    tokens,
    parameters: {
      referenceGasPrice: options.referenceGasPrice ?? MAINNET_GAS_PRICE_MIST,
      gaslessMinimums: new Map(
        (options.gasless ?? ['USDC']).map((symbol) => [tokens[symbol], GASLESS_MINIMUM_BASE_UNITS]),
      ),
      gaslessTransactionsPerCheckpoint: GASLESS_TRANSACTIONS_PER_CHECKPOINT,
    },
    keepCheckpoints: options.keepCheckpoints ?? KEEP_CHECKPOINTS,
  });
  const chain = stateFile === undefined ? fresh : loadChain(stateFile, fresh);
  const clock = createClock(options.genesisTimeMs);
  const checkpointing = createCheckpointing(chain, { checkpointMs: options.checkpointMs, now: clock.now });
  const more = new Set<SuiNode>();
  const controlOf = (node: SuiNode): SuiControl =>
    createControl({
      chain,
      checkpointing,
      clock,
      consensusMs,
      giver: devKeypair(seed, 0),
      tokens,
      node,
      openNode: async () => {
        const opened = await open(0);
        more.add(opened);
        return opened;
      },
    });
  const open = async (port: number): Promise<SuiNode> =>
    openNode(chain, {
      host,
      port,
      consensusMs,
      runControl: (node) => {
        const control = controlOf(node);
        return async (name, body) => runControl(control, name, body);
      },
    });
  const node = await open(options.port ?? 0);
  log(`SUI devnet at ${node.url}`);
  return {
    url: node.url,
    chainId: chain.id,
    accounts,
    tokens,
    control: controlOf(node),
    chain,
    async close() {
      checkpointing.pause();
      await Promise.all([node, ...more].map((opened) => opened.close()));
      if (stateFile === undefined) return;
      await Promise.allSettled(chain.submissions.values());
      checkpointing.close(1);
      writeChain(chain, stateFile);
    },
  };
}
