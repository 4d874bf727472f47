import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import { createApart, type Apart } from './apart.ts';
import { catchUp, isFarBehind, type CatchUpGoal } from './catch-up.ts';
import { createEpochCertifying, type EpochCertifying } from './certify-epochs.ts';
import { seenBlock, type ChainState, type HeadBlock } from './chain-state.ts';
import { createFinalityWatch, type FinalityWatch } from './finality-watch.ts';
import { createFateFollowing, type FateFollowing } from './follow-fates.ts';
import { createHoldOff, type HoldOff } from './hold-off.ts';
import type { ScanPart } from './observe.ts';
import { createRescans, type Rescans } from './rescan.ts';
import type { ScanChange } from './scan-change.ts';
import { isScanError, type ScanErrorCode } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { planSeenPass } from './seen-pass.ts';
import { createTokenWatch, type TokenWatch } from './token-watch.ts';
import { verifiableHeight, verifiedTarget } from './verifiable-height.ts';
import { planVerifiedPass } from './verified-pass.ts';
import { createDepthVouching } from './vouch-for-depth.ts';

type Save = (state: ChainState, change: ScanChange) => Promise<ChainState>;

/** The parts of a chain's round, with what each remembers from round to round. */
export interface RoundParts {
  readonly finality: FinalityWatch;
  readonly rescans: Rescans;
  readonly fates: FateFollowing;
  readonly tokens: TokenWatch;
  readonly epochs: EpochCertifying;
  /** Reads up to the head in parallel when that is far; the state as far as it came. */
  catchUpWithHead(
    state: ChainState,
    head: BlockHeader,
    save: Save,
    options: ReadOptions,
  ): Promise<ChainState>;
  /**
   * Plans the seen pass. A shorter branch is followed when it stays: it may be the chain's, though most grow at once.
   * 'held': one source alone shows a branch that would take verified blocks back.
   */
  planSeen(
    state: ChainState,
    head: BlockHeader,
    options: ReadOptions,
  ): Promise<ScanChange | 'shorter-branch' | 'held' | undefined>;
  /** Verifies a range of what is deep enough, or all of it when that is much; the state as far as it came. */
  verify(state: ChainState, save: Save, options: ReadOptions): Promise<ChainState>;
  /** Reads and commits a part of a rescan; whatever becomes of it, the cursor stays. */
  rescan(state: ChainState, save: Save, options: ReadOptions): Promise<ChainState>;
  /** Forgets what was noted under a lease before. */
  leaseChanged(): void;
  isVerifyingDue(): boolean;
  isRescanDue(): boolean;
}

const SHORTER_BRANCH_GRACE_MS = 2_000;
/** Another replica has gone on with the chain: not the rescan's failure. */
const TAKEN_OVER: ReadonlySet<string> = new Set(['LEASE_LOST', 'CURSOR_MOVED' satisfies ScanErrorCode]);

/** Makes the parts of one chain's round. What they remember is lost with the process, and costs nothing but time. */
export function createRoundParts(deps: Scanning & { readonly clock: Clock }): RoundParts {
  const { clock } = deps;
  const apart = createApart(deps);
  const finality = createFinalityWatch(deps);
  const rescans = createRescans(deps);
  const rescanning = createRescanning(deps, apart, rescans);
  const verifying = createHoldOff(clock);
  const lookAtFinality = createFinalityLook(deps, finality);
  const catchingUp = createCatchingUp(deps);
  const vouching = createDepthVouching(deps);
  const seeing = createSeeing(deps);
  const tokens = createTokenWatch(deps);
  const epochs = createEpochCertifying(deps);

  return {
    finality,
    rescans,
    fates: createFateFollowing(deps),
    tokens,
    epochs,
    async catchUpWithHead(state, head, save, options) {
      if (!catchingUp.isWorthwhile(head.height - seenBlock(state).height)) return state;
      const final = verifying.isDue() ? await lookAtFinality.apart(apart, state, head, options) : undefined;
      const goal = goalAtHead(deps, state, head, final);
      return catchingUp.run({ part: 'catch-up' }, state, goal, save, options);
    },
    planSeen: seeing.plan,
    async verify(state, save, options) {
      const plan = await apart('verified', verifying, options, async () => {
        const goal = await goalToVerify(deps, state, lookAtFinality, options);
        if (goal === undefined) return { isIdle: true };
        const verifiedHeight = await vouching.highestUpTo(goal.verifiedHeight, state, goal, options);
        const vouchedGoal = { ...goal, verifiedHeight };
        if (catchingUp.isWorthwhile(verifiedHeight - state.verifiedHeight)) return { goal: vouchedGoal };
        return { change: await planVerifiedPass(deps, state, vouchedGoal, options) };
      });
      let after = state;
      if (plan?.change !== undefined) after = await save(state, plan.change);
      if (plan?.goal !== undefined) {
        const told = { part: 'verified', alsoHeld: verifying } as const;
        after = await catchingUp.run(told, state, plan.goal, save, options);
      }
      const hasMoved = after.verifiedHeight > state.verifiedHeight;
      if (hasMoved) seeing.verified();
      if (hasMoved || plan?.isIdle === true) deps.observe.verifiedRead(deps.network.chain);
      return after;
    },
    rescan: rescanning.run,
    leaseChanged() {
      rescans.forget();
      finality.forget();
      tokens.forget();
      epochs.forget();
    },
    isVerifyingDue: () => verifying.isDue(),
    isRescanDue: rescanning.isDue,
  };
}

/** Plans the seen pass, and remembers what it would not follow. */
function createSeeing(deps: Scanning & { readonly clock: Clock }): {
  readonly plan: RoundParts['planSeen'];
  verified(): void;
} {
  const { network, observe, clock } = deps;
  let shorterSinceMs: number | undefined;
  let timesHeld = 0;
  return {
    async plan(state, head, options) {
      const nowMs = clock.now().getTime();
      const mayShrink = shorterSinceMs !== undefined && nowMs - shorterSinceMs >= SHORTER_BRANCH_GRACE_MS;
      const change = await planSeenPass(deps, state, head, mayShrink, options).catch((error: unknown) => {
        if (!isScanError(error, 'BRANCH_NOT_VOUCHED')) throw error;
        timesHeld += 1;
        observe.failed(network.chain, 'branch', error, timesHeld);
        return 'held' as const;
      });
      shorterSinceMs = change === 'shorter-branch' ? (shorterSinceMs ?? nowMs) : undefined;
      return change;
    },
    verified() {
      timesHeld = 0;
    },
  };
}

function createRescanning(
  { network, observe, clock }: Scanning & { readonly clock: Clock },
  apart: Apart,
  rescans: Rescans,
): { readonly run: RoundParts['rescan']; isDue(): boolean } {
  const holdOff = createHoldOff(clock);
  return {
    isDue: () => rescans.isPending() && holdOff.isDue(),
    async run(state, save, options) {
      const part = await apart('rescan', holdOff, options, () => rescans.planNext(state, options));
      if (part === undefined) return state;
      try {
        const after = await save(state, part);
        rescans.committed();
        return after;
      } catch (error) {
        const isOthers = error instanceof GatewayError && TAKEN_OVER.has(error.code);
        if (options.signal?.aborted === true || isOthers) throw error;
        rescans.forget(); // it may have been committed all the same
        observe.failed(network.chain, 'rescan', error, holdOff.failed(error));
        return state; // which a rescan never changes
      }
    },
  };
}

interface Finality {
  readonly finalizedHeight: number | null;
  readonly isFinalityStale: boolean;
}

interface FinalityLook {
  now(state: ChainState, head: HeadBlock, options: ReadOptions): Promise<Finality>;
  /** Undefined when it can't be told now. */
  apart(
    apart: Apart,
    state: ChainState,
    head: HeadBlock,
    options: ReadOptions,
  ): Promise<Finality | undefined>;
}

function createFinalityLook(
  { network, observe, clock }: Scanning & { readonly clock: Clock },
  finality: FinalityWatch,
): FinalityLook {
  const holdOff = createHoldOff(clock);
  async function now(state: ChainState, head: HeadBlock, options: ReadOptions): Promise<Finality> {
    const known = { finalizedHeight: state.finalizedHeight, headHeight: head.height };
    try {
      const finalizedHeight = await finality.look(known, options);
      return { finalizedHeight, isFinalityStale: finality.view().isStale };
    } finally {
      observe.finalitySeen(network.chain, finality.view());
    }
  }
  return {
    now,
    apart: (apart, state, head, options) =>
      apart('finality', holdOff, options, () => now(state, head, options)),
  };
}

/** Up to the head, verifying all that will be deep enough then; nothing while it can't be told what is final. */
function goalAtHead(
  { network }: Pick<Scanning, 'network'>,
  state: ChainState,
  head: BlockHeader,
  final: Finality | undefined,
): CatchUpGoal {
  const { finalizedHeight, isFinalityStale } = final ?? { finalizedHeight: null, isFinalityStale: false };
  const verifiable =
    final === undefined ? 0 : verifiableHeight(network, { linkedHeight: head.height, ...final });
  return {
    head,
    seenHeight: head.height,
    verifiedHeight: Math.max(state.verifiedHeight, verifiable),
    finalizedHeight,
    isFinalityStale,
  };
}

/** Up to what is deep enough of the seen blocks; undefined when that is verified already. */
async function goalToVerify(
  { network }: Pick<Scanning, 'network'>,
  state: ChainState,
  finality: FinalityLook,
  options: ReadOptions,
): Promise<CatchUpGoal | undefined> {
  const seenHeight = seenBlock(state).height;
  const { head, verifiedHeight } = state;
  if (verifiedHeight === seenHeight) return undefined;
  const named = await finality.now(state, head, options);
  const finalizedHeight = named.finalizedHeight === null ? null : Math.min(named.finalizedHeight, seenHeight);
  const { isFinalityStale } = named;
  const target = verifiedTarget({ ...state, finalizedHeight }, network, isFinalityStale);
  if (target === verifiedHeight) return undefined;
  return { head, seenHeight, verifiedHeight: target, finalizedHeight, isFinalityStale };
}

interface CatchingUp {
  /** Whether so many blocks are worth it, and it did not fail a moment ago. */
  isWorthwhile(blocks: number): boolean;
  /** The state as far as it came. A failure is told as one of `part`, and holds `alsoHeld` back as well. */
  run(
    told: { readonly part: ScanPart; readonly alsoHeld?: HoldOff },
    before: ChainState,
    goal: CatchUpGoal,
    save: Save,
    options: ReadOptions,
  ): Promise<ChainState>;
}

function createCatchingUp(deps: Scanning & { readonly clock: Clock }): CatchingUp {
  const { network, observe } = deps;
  const holdOff = createHoldOff(deps.clock);
  return {
    isWorthwhile: (blocks) => isFarBehind(deps, blocks) && holdOff.isDue(),
    async run({ part, alsoHeld }, before, goal, save, options) {
      const { state, failure } = await catchUp(deps, before, goal, save, options);
      if (state !== before || failure === undefined) holdOff.succeeded(); // the next failure is the first again
      if (state.verifiedHeight > before.verifiedHeight) observe.verifiedRead(network.chain);
      if (failure === undefined) return state;
      if (options.signal?.aborted === true) throw failure;
      alsoHeld?.failed(failure);
      observe.failed(network.chain, part, failure, holdOff.failed(failure));
      return state;
    },
  };
}
