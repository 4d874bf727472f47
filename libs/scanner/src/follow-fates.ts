import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';
import { askFates, isAskedOfOne, isUnmined, type FateMoment } from './ask-fates.ts';
import { seenBlock, standStill, takeStep, type ChainState, type HeadBlock } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { judgeFates, type FateAnswers, type OpenTransaction } from './judge-fates.ts';
import type { FateFigures } from './observe/chain-figures.ts';
import type { ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';

/** No fate is recorded so high. */
const NOWHERE = Number.MAX_SAFE_INTEGER;
const NO_ANSWERS: FateAnswers = { seen: new Map(), verified: new Map(), olderBlocks: new Map() };

/** What is open, and what one source says of it, if that was asked early. */
interface Known {
  readonly open: readonly OpenTransaction[];
  readonly early: FatesRead | undefined;
}

/**
 * Follows the outcomes of the transactions that the gateway signed: by their receipts, not by the blocks that are read. So one that was
 * mined long before it is asked about is found as well. What is found is part of the commit that moves the cursor over its block. A
 * failure here holds no cursor back: sources are asked again.
 */
export function createFateFollowing(deps: Scanning) {
  const { network, reader, observe, clock } = deps;
  const isolation = isolateFailure(deps, 'fates');
  const waits = createWaits();
  const openOnes = createOpenOnes(deps, (own) => waits.has(own.txHash));
  let early: Promise<Known> | undefined;
  let isAsked = false;

  async function readEarly(state: ChainState, options: ReadOptions): Promise<Known> {
    const open = await openOnes.load();
    const unmined = open.filter((own) => isAskedOfOne(own, state));
    return { open, early: await reader.readFates(unmined, { ...options, byOneSource: true }) };
  }

  /** Undefined when nothing could be asked: then only what a reorganisation takes back is judged. */
  async function judgeAt(
    moment: FateMoment,
    options: ReadOptions,
    takenBack?: readonly OpenTransaction[],
  ): Promise<ScanChange['fates']> {
    const begun = moment.isReorganised ? undefined : early;
    early = undefined;
    const asked = await isolation.run(options, async () => {
      const known = (await begun) ?? { open: takenBack ?? (await openOnes.load()), early: undefined };
      if (known.open.length === 0) return { open: known.open, answers: NO_ANSWERS };
      isAsked = true;
      return { open: known.open, answers: await askFates(deps, moment, known, options) };
    });
    const { open, answers } = asked ?? { open: takenBack ?? [], answers: NO_ANSWERS };
    const { changes, waiting } = judgeFates(open, moment.after, answers);
    if (asked !== undefined) {
      const unheard = open.filter((own) => isUnmined(own, moment.after) && !answers.verified.has(own.txHash));
      waits.note(waiting, unheard, clock.now().getTime());
      observe.fatesRead(network.chain, { ...figuresOf(open), waitingSinceMs: waits.sinceMs() });
    }
    return changes.length === 0 ? undefined : changes;
  }

  return {
    /** Begins to ask while the round reads blocks: payments to us must not wait for our own. */
    begin(state: ChainState, head: HeadBlock, options: ReadOptions): void {
      early = undefined;
      isAsked = false;
      if (!isolation.isDue() || (head.hash === seenBlock(state).hash && !openOnes.mayHaveSome())) return;
      early = readEarly(state, options);
      early.catch(() => undefined); // told when it is waited for, if it ever is
    },
    /** The change with the outcomes that belong to it. A rescan has none: its cursor stands still. */
    async addTo(state: ChainState, change: ScanChange, options: ReadOptions): Promise<ScanChange> {
      if (change.rescan !== undefined || change.fates !== undefined) return change;
      const { step } = change;
      const moment = {
        after: takeStep(state, step, network.reorgWindow),
        isReorganised: step.ancestorHeight < seenBlock(state).height,
        isVerifying: step.verifiedHeight > state.verifiedHeight,
      };
      // A reorganisation takes back what it takes back, whether anybody can be asked or not.
      const takenBack = moment.isReorganised ? await openOnes.load(step.ancestorHeight) : undefined;
      const fates = await judgeAt(moment, options, takenBack);
      return fates === undefined ? change : { ...change, fates };
    },
    /** What changed although no cursor moved in this round; undefined when nothing did, or nothing is open. */
    async planIdle(state: ChainState, options: ReadOptions): Promise<ScanChange | undefined> {
      if (isAsked || (early === undefined && !openOnes.mayHaveSome())) return undefined;
      const fates = await judgeAt({ after: state, isReorganised: false, isVerifying: false }, options);
      if (fates === undefined) return undefined;
      return { step: standStill(state), matched: [], matchedState: 'DETECTED', orphaned: [], fates };
    },
  };
}

/** The open transactions of a chain, and whether there were any when they were looked up last. */
function createOpenOnes(deps: Scanning, isWaiting: (own: OpenTransaction) => boolean) {
  const { network, store } = deps;
  const nextTaken = createTakenOnes(deps, isWaiting);
  let hadSome = false;
  return {
    /** With `aboveHeight` also what a reorganisation down to there takes back. */
    async load(aboveHeight = NOWHERE): Promise<readonly OpenTransaction[]> {
      const isLikelyNone = !hadSome && aboveHeight === NOWHERE;
      hadSome = true; // unless it turns out otherwise: what could not be asked now is asked again
      const isNone = isLikelyNone && !(await store.mayHaveOpenTransactions(network.chain));
      const open = isNone ? [] : await store.openTransactions(network.chain, aboveHeight);
      const known = new Set(open.map(({ txHash }) => txHash));
      const taken = (await nextTaken()).filter(({ txHash }) => !known.has(txHash));
      hadSome = open.length > 0;
      return [...open, ...taken];
    },
    /** True also after a look-up that failed. */
    mayHaveSome: () => hadSome,
  };
}

const TAKEN_EVERY_MS = 30_000;
/** Asked for at once; of more others come the next time. */
const TAKEN_AT_ONCE = 256;

/**
 * Gives own transactions of taken nonces when they are due, page by page and round again; in between none but those on
 * which sources differ.
 */
function createTakenOnes(
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

/** Since when two sources have differed on each transaction. */
function createWaits() {
  const since = new Map<TxHash, number>();
  return {
    /** Of the unheard no more is known than before: one source has no receipt of them, and two were not asked. */
    note(waiting: readonly TxHash[], unheard: readonly OpenTransaction[], nowMs: number): void {
      const kept = new Set([...waiting, ...unheard.map(({ txHash }) => txHash)]);
      for (const txHash of since.keys()) if (!kept.has(txHash)) since.delete(txHash);
      for (const txHash of waiting) if (!since.has(txHash)) since.set(txHash, nowMs);
    },
    has: (txHash: TxHash) => since.has(txHash),
    /** Of the one that waits longest; undefined when none does. */
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
