import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';
import { askFates, needsOneSource, isUnmined, type FateMoment } from './ask-fates.ts';
import { seenBlock, unchangedStep, applyStep, type ChainState, type HeadBlock } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { judgeFates, type FateAnswers, type JudgedFates, type OpenTransaction } from './judge-fates.ts';
import type { FateFigures } from './observe/chain-figures.ts';
import type { ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';

const ABOVE_ALL_BLOCKS = Number.MAX_SAFE_INTEGER;
const NO_ANSWERS: FateAnswers = { seen: new Map(), verified: new Map(), otherBlocks: new Map() };

interface Known {
  readonly open: readonly OpenTransaction[];
  readonly early: FatesRead | undefined;
}

/**
 * Follows own transactions by their receipts, which also finds those mined in old blocks. Outcomes are part of the
 * commit that moves the cursor over their block. A failure delays no cursor.
 */
export function createFateFollowing(deps: Scanning) {
  const { network, reader, observe, clock } = deps;
  const isolation = isolateFailure(deps, 'fates');
  const waits = createWaits();
  const openTransactions = createOpenTransactions(deps, (own) => waits.has(own.txHash));
  let early: Promise<Known> | undefined;
  let isAsked = false;

  async function readEarly(state: ChainState, options: ReadOptions): Promise<Known> {
    const open = await openTransactions.load();
    const unmined = open.filter((own) => needsOneSource(own, state));
    return { open, early: await reader.readFates(unmined, { ...options, byOneSource: true }) };
  }

  async function judgeAt(
    moment: FateMoment,
    options: ReadOptions,
    takenBack?: readonly OpenTransaction[],
  ): Promise<Pick<JudgedFates, 'changes' | 'blocks'> | undefined> {
    const begun = moment.isReorganised ? undefined : early;
    early = undefined;
    const asked = await isolation.run(options, async () => {
      const known = (await begun) ?? { open: takenBack ?? (await openTransactions.load()), early: undefined };
      if (known.open.length === 0) return { open: known.open, answers: NO_ANSWERS };
      isAsked = true;
      return { open: known.open, answers: await askFates(deps, moment, known, options) };
    });
    const { open, answers } = asked ?? { open: takenBack ?? [], answers: NO_ANSWERS };
    const { changes, blocks, waiting } = judgeFates(open, moment.after, answers);
    if (asked !== undefined) {
      const unheard = open.filter((own) => isUnmined(own, moment.after) && !answers.verified.has(own.txHash));
      waits.note(waiting, unheard, clock.now().getTime());
      observe.fatesRead(network.chain, { ...figuresOf(open), waitingSinceMs: waits.sinceMs() });
    }
    return changes.length === 0 ? undefined : { changes, blocks };
  }

  return {
    /** Starts the request while the round reads blocks, so that incoming payments do not wait for it. */
    begin(state: ChainState, head: HeadBlock, options: ReadOptions): void {
      early = undefined;
      isAsked = false;
      if (!isolation.isDue() || (head.hash === seenBlock(state).hash && !openTransactions.mayBeAny())) return;
      early = readEarly(state, options);
      early.catch(() => undefined); // reported when it is awaited
    },
    /** A rescan has no outcomes: its cursor does not move. */
    async addTo(state: ChainState, change: ScanChange, options: ReadOptions): Promise<ScanChange> {
      if (change.rescan !== undefined || change.fates !== undefined) return change;
      const { step } = change;
      const moment = {
        after: applyStep(state, step, network.reorgWindow),
        isReorganised: step.ancestorHeight < seenBlock(state).height,
        isVerifying: step.verifiedHeight > state.verifiedHeight,
      };
      // A reorganisation orphans transactions even when no source can be asked.
      const takenBack = moment.isReorganised ? await openTransactions.load(step.ancestorHeight) : undefined;
      const judged = await judgeAt(moment, options, takenBack);
      if (judged === undefined) return change;
      const newBlocks = [...step.newBlocks, ...judged.blocks];
      return { ...change, step: { ...step, newBlocks }, fates: judged.changes };
    },
    mayBeOpen: openTransactions.mayBeAny,
    async planIdle(state: ChainState, options: ReadOptions): Promise<ScanChange | undefined> {
      if (isAsked || (early === undefined && !openTransactions.mayBeAny())) return undefined;
      const judged = await judgeAt({ after: state, isReorganised: false, isVerifying: false }, options);
      if (judged === undefined) return undefined;
      const step = { ...unchangedStep(state), newBlocks: judged.blocks };
      return { step, matched: [], matchedState: 'DETECTED', orphaned: [], fates: judged.changes };
    },
  };
}

function createOpenTransactions(deps: Scanning, isWaiting: (own: OpenTransaction) => boolean) {
  const { network, store } = deps;
  const nextTaken = createTakenTransactions(deps, isWaiting);
  let hadSome = false;
  return {
    /** With `aboveHeight`, includes transactions recorded above that height. */
    async load(aboveHeight = ABOVE_ALL_BLOCKS): Promise<readonly OpenTransaction[]> {
      const isLikelyNone = !hadSome && aboveHeight === ABOVE_ALL_BLOCKS;
      hadSome = true; // stays true if the query throws, so that the next round queries again
      const isNone = isLikelyNone && !(await store.mayHaveOpenTransactions(network.chain));
      const open = isNone ? [] : await store.openTransactions(network.chain, aboveHeight);
      const known = new Set(open.map(({ txHash }) => txHash));
      const taken = (await nextTaken()).filter(({ txHash }) => !known.has(txHash));
      hadSome = open.length > 0;
      return [...open, ...taken];
    },
    /** Also true after a failed lookup. */
    mayBeAny: () => hadSome,
  };
}

const TAKEN_EVERY_MS = 30_000;
const TAKEN_AT_ONCE = 256;

/** Page by page every 30 s, then from the start. Between pages only those on which sources disagree. */
function createTakenTransactions(
  { network, store, clock }: Scanning,
  isWaiting: (own: OpenTransaction) => boolean,
): () => Promise<readonly OpenTransaction[]> {
  let page: readonly OpenTransaction[] = [];
  let after: TxHash | '' = '';
  let dueAtMs = 0;
  return async () => {
    const nowMs = clock.now().getTime();
    const kept = page.filter(isWaiting);
    if (nowMs < dueAtMs) return kept;
    page = await store.takenTransactions(network.chain, { after, limit: TAKEN_AT_ONCE });
    after = page.length < TAKEN_AT_ONCE ? '' : (page.at(-1)?.txHash ?? '');
    dueAtMs = nowMs + TAKEN_EVERY_MS;
    const hashes = new Set(page.map(({ txHash }) => txHash));
    page = [...page, ...kept.filter(({ txHash }) => !hashes.has(txHash))];
    return page;
  };
}

function createWaits() {
  const since = new Map<TxHash, number>();
  return {
    /** Keeps the entry of a transaction in `unheard`: two sources were not asked about it this time. */
    note(waiting: readonly TxHash[], unheard: readonly OpenTransaction[], nowMs: number): void {
      const kept = new Set([...waiting, ...unheard.map(({ txHash }) => txHash)]);
      for (const txHash of since.keys()) if (!kept.has(txHash)) since.delete(txHash);
      for (const txHash of waiting) if (!since.has(txHash)) since.set(txHash, nowMs);
    },
    has: (txHash: TxHash) => since.has(txHash),
    sinceMs: () => least([...since.values()]),
  };
}

function figuresOf(asked: readonly OpenTransaction[]): Omit<FateFigures, 'waitingSinceMs'> {
  const open = asked.filter(({ isTaken = false }) => !isTaken);
  const unmined = open.filter(({ fate }) => fate === undefined || fate.state === 'ORPHANED');
  return {
    open: open.length,
    oldestUnminedSeconds: least(unmined.map(({ signedAtSeconds }) => signedAtSeconds)),
  };
}

function least(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.min(...values);
}
