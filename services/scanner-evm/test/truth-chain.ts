import { contractInterface, type ContractName } from '@opentill/devnets/evm/contract-artifacts';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { DEV_TOKEN_ADDRESSES, mine, payToken, reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { signTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc, callRpcBatch } from '@opentill/devnets/evm/json-rpc';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { anEvmAddress } from '@opentill/testkit/scenario';
import { readEvmTransfers } from '@opentill/testkit/evm-transfers';
import type { TruthChain as TruthChainOf } from '@opentill/testkit/truth-run';
import { deploy } from './scanner-harness.ts';

/** Transactions of an account with a single role fit into any branch. */
const OWNER = 0;
const PAYERS = [1, 2, 4] as const;
const BLACKLISTED = 3;
const SPRAYERS = [5, 6, 7, 8] as const;
const GAS_LIMIT = 3_000_000n;
const TOKENS = [DEV_TOKEN_ADDRESSES.USDT, DEV_TOKEN_ADDRESSES.USDC] as const;

/**
 * - `mixed`: some transactions of the old branch are in the new one, some come a block later, some never.
 * - `renumbered`: all are in one block of the new branch in another order, so that log indices change.
 * - `failed`: like mixed, and one payment is mined again and reverts, because its sender was blacklisted first.
 * - `vanished`: the new branch is empty.
 */
export type ReorgKind = 'mixed' | 'renumbered' | 'failed' | 'vanished';

export interface Fates {
  readonly sameAgain: number;
  readonly renumbered: number;
  readonly failed: number;
  readonly vanished: number;
}

export interface TruthChain extends TruthChainOf {
  /** Mines the blocks it needs and replaces the last `depth` blocks. */
  reorganise(kind: ReorgKind, depth: number): Promise<void>;
  fates(): Promise<Fates>;
}

interface Sent {
  readonly account: number;
  readonly raw: string;
  readonly hash: string;
}
interface RawReceipt {
  readonly status: string;
  readonly logs: readonly { readonly blockHash: string; readonly logIndex: string }[];
}

export async function createTruthChain(rpcUrl: string, seed: number): Promise<TruthChain> {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const batch = await deploy(rpcUrl, 'TransferBatch', [], 9);
  const fake = await deploy(rpcUrl, 'FakeToken', [6, 'Tether USD', 'USDT'], 9);
  for (const token of TOKENS) {
    const { privateKey } = devAccount(1);
    await payToken({ rpcUrl, token, fromKey: privateKey, to: batch, amountBaseUnits: 10n ** 14n });
  }
  await mine({ rpcUrl, blocks: 1 });

  const ours: string[] = [];
  const strangers = Array.from({ length: 100 }, anEvmAddress);
  let recent: (readonly Sent[])[] = [];
  let pooled: Sent[] = [];
  const takenBack: { readonly before: RawReceipt; readonly hash: string }[] = [];
  let lastAmount = 0n;

  const recipient = (): string => (random() < 0.5 ? pick(ours) : pick(strangers));
  const amount = (): bigint => (lastAmount += 1n + BigInt(below(1_000)));
  const receipts = async (hashes: readonly string[]): Promise<(RawReceipt | null)[]> =>
    hashes.length === 0 // an empty JSON-RPC batch is invalid
      ? []
      : ((await callRpcBatch(
          rpcUrl,
          hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
        )) as (RawReceipt | null)[]);

  async function sign(account: number, to: string, data: string): Promise<Sent> {
    const { privateKey } = devAccount(account);
    const raw = await signTransaction({ rpcUrl, fromKey: privateKey, to, data, gasLimit: GAS_LIMIT });
    return { account, raw, hash: '' };
  }
  async function send(sent: Sent): Promise<void> {
    const hash = await callRpc<string>(rpcUrl, 'eth_sendRawTransaction', [sent.raw]);
    pooled.push({ ...sent, hash });
  }
  const call = (contract: ContractName, method: string, args: readonly unknown[]): string =>
    contractInterface(contract).encodeFunctionData(method, args);

  /** Many transfers in one transaction, sometimes with a duplicate. */
  async function spray(): Promise<void> {
    const items: (readonly [string, string, bigint])[] = [];
    for (let left = 3 + below(7); left > 0; left -= 1) {
      const item = [pick(TOKENS), recipient(), amount()] as const;
      items.push(item);
      if (random() < 0.05) items.push(item);
      if (random() < 0.1) items.push([pick(TOKENS), pick(ours), 0n]);
    }
    const method = random() < 0.9 ? 'send' : pick(['sendThenRevert', 'sendAndRevertInside']);
    await send(await sign(pick(SPRAYERS), batch, call('TransferBatch', method, [items])));
  }

  async function noise(): Promise<void> {
    const liar = devAccount(9).address;
    const fakes = [
      call('FakeToken', 'emitTransfer', [liar, pick(ours), 10n ** 12n]),
      call('FakeToken', 'emitNftTransfer', [liar, pick(ours), 7n]),
      call('FakeToken', 'emitTransferWithoutData', [liar, pick(ours)]),
    ];
    await send(await sign(9, fake, pick(fakes)));
  }

  async function produceBlock(): Promise<void> {
    if (random() < 0.9) {
      for (let left = 1 + below(2); left > 0; left -= 1) await spray();
      if (random() < 0.4)
        await send(
          await sign(
            pick(PAYERS),
            pick(TOKENS),
            call('UsdcLike', 'transfer', [pick(ours), random() < 0.2 ? 0n : amount()]),
          ),
        );
      if (random() < 0.3) await noise();
    }
    await seal();
  }

  async function seal(): Promise<void> {
    await mine({ rpcUrl, blocks: 1 });
    recent = [...recent, pooled].slice(-12);
    pooled = [];
  }

  /** Keeps each sender's order. Transactions after one that is dropped are dropped too. */
  function decideFates(kind: ReorgKind, taken: readonly Sent[], depth: number) {
    const branch: { readonly sent: Sent; readonly blockOffset: number }[] = [];
    const later: Sent[] = [];
    const accounts = [...new Set(taken.map((sent) => sent.account))].reverse();
    for (const account of accounts) {
      const own = taken.filter((sent) => sent.account === account);
      const inBranch = kind === 'vanished' ? 0 : kind === 'renumbered' ? own.length : below(own.length + 1);
      const alive = kind === 'vanished' ? 0 : inBranch + below(own.length - inBranch + 1);
      let blockOffset = kind === 'renumbered' ? depth - 1 : below(depth);
      for (const sent of own.slice(0, inBranch)) {
        branch.push({ sent, blockOffset });
        blockOffset += below(depth - blockOffset);
      }
      later.push(...own.slice(inBranch, alive));
    }
    return { branch, later };
  }

  async function replaceBlocks(kind: ReorgKind, depth: number, first: readonly Sent[]): Promise<void> {
    const taken = recent.slice(-depth).flat();
    const before = await receipts(taken.map((sent) => sent.hash));
    taken.forEach((sent, i) => takenBack.push({ hash: sent.hash, before: before[i]! }));
    const failing = first.length === 0 ? undefined : taken.find((sent) => sent.account === BLACKLISTED);
    const free = taken.filter((sent) => sent !== failing);
    const { branch, later } = decideFates(kind, free, depth);
    const head = [...first, ...(failing === undefined ? [] : [failing])].map((sent) => ({
      sent,
      blockOffset: 0,
    }));
    const all = [...head, ...branch];
    await reorg({
      rpcUrl,
      depth,
      replacements: all.map(({ sent, blockOffset }) => ({ rawTransaction: sent.raw, blockOffset })),
    });
    const blocks = Array.from({ length: depth }, (_, offset) =>
      all.filter(({ blockOffset }) => blockOffset === offset).map(({ sent }) => sent),
    );
    recent = [...recent.slice(0, -depth), ...blocks];
    for (const sent of later) await send(sent);
  }

  return {
    addAddress: (address) => void ours.push(address),
    produceBlock,
    async reorganise(kind, depth) {
      if (kind !== 'failed') return replaceBlocks(kind, depth, []);
      const blacklisting = await sign(
        OWNER,
        TOKENS[0],
        call('TetherLike', 'addBlackList', [devAccount(BLACKLISTED).address]),
      );
      const pay = call('TetherLike', 'transfer', [pick(ours), amount()]);
      await send(await sign(BLACKLISTED, TOKENS[0], pay));
      for (let left = depth; left > 0; left -= 1) await produceBlock();
      return replaceBlocks(kind, depth, [blacklisting]);
    },
    async truth() {
      const mine = new Set(ours);
      const paid = (await readEvmTransfers(rpcUrl, TOKENS)).filter(
        ({ to, amount: moved }) => mine.has(to) && moved > 0n,
      );
      const hashes = [...new Set(paid.map(({ tx }) => tx))];
      const places = new Map<string, number>();
      for (let at = 0; at < hashes.length; at += 100) {
        for (const receipt of await receipts(hashes.slice(at, at + 100)))
          receipt!.logs.forEach((log, place) => places.set(`${log.blockHash} ${log.logIndex}`, place));
      }
      return paid.map(({ logIndex, amount: moved, ...deposit }) => ({
        ...deposit,
        position: `log:${places.get(`${deposit.block} ${logIndex}`)}`,
        amount: `${moved}`,
      }));
    },
    async fates() {
      const fates = { sameAgain: 0, renumbered: 0, failed: 0, vanished: 0 };
      const now = await receipts(takenBack.map(({ hash }) => hash));
      takenBack.forEach(({ before }, i) => {
        const after = now[i];
        if (after === null || after === undefined) fates.vanished += 1;
        else if (after.status !== before.status) fates.failed += 1;
        else if (after.logs[0]?.logIndex !== before.logs[0]?.logIndex) fates.renumbered += 1;
        else fates.sameAgain += 1;
      });
      return fates;
    },
  };
}
