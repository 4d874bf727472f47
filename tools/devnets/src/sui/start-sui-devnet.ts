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
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default 127.0.0.1: the accounts' keys are everybody's. */
  readonly host?: string;
  /**
   * Wall time between two checkpoints (250 on mainnet), which bear the clock's time; 0: they come only when told
   * (checkpoint), each 250 ms of chain time after the one before, whatever the clock says.
   */
  readonly checkpointMs: number;
  /** How long a transaction waits for its execution, with its objects locked. Default 0. */
  readonly consensusMs?: number;
  /** Chain time of checkpoint 1, epoch ms; default: now. It goes on with the clock. */
  readonly genesisTimeMs?: number;
  /** Names accounts, tokens and the chain (its id); the same seed gives the same. */
  readonly seed?: string;
  /** What may be moved without gas. Default: USDC, as on mainnet. */
  readonly gasless?: readonly DevTokenSymbol[];
  /** MIST a unit. Default 500. */
  readonly referenceGasPrice?: bigint;
  /** Older checkpoints are forgotten. Default 20,000: more than an hour of them. */
  readonly keepCheckpoints?: number;
  /** Goes on with the chain in this file, if there is one, and writes it when closed. */
  readonly stateFile?: string;
  readonly log?: (line: string) => void;
}

/** A running SUI node with a chain of its own. */
export interface SuiDevnet {
  /** Base URL, for SuiGrpcClient; `devnet/…` is below it. */
  readonly url: string;
  /** Digest of checkpoint 0, base58. */
  readonly chainId: string;
  /**
   * Each with ten million SUI and a billion of each token, one half in coins and one in address balances; each second one
   * has a key of secp256k1.
   */
  readonly accounts: readonly SuiDevAccount[];
  /** Canonical coin types, six decimals. */
  readonly tokens: Readonly<Record<DevTokenSymbol, string>>;
  readonly control: SuiControl;
  /** The chain itself, for measurements; tests use the API. */
  readonly chain: Chain;
  close(): Promise<void>;
}

const DEFAULT_SEED = 'opentill devnet';
const ACCOUNTS = 10;
const KEEP_CHECKPOINTS = 20_000;

/**
 * Starts a SUI node, with checkpoint 1 closed. Throws a system error (EADDRINUSE) where the port is taken, and
 * GatewayError<SavedSuiChainErrorCode>.
 */
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
