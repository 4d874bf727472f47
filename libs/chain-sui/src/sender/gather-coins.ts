import { bcs } from '@mysten/sui/bcs';
import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Gathering, Validity } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import { senderError } from '@opentill/chain/sender-error';
import type { TokenContract } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { coinTypeOf, SUI_COIN_TYPE } from '../coin-type.ts';
import { readHeader } from '../read-header.ts';
import type { SuiSource, SuiSources } from '../sui-sources.ts';
import { askStateWitnesses } from './ask-state-witnesses.ts';
import { FRAMEWORK, programOf } from './payment-program.ts';
import { readEpoch } from './read-epoch.ts';
import { readGathering } from './read-gathering.ts';
import { readCoins, readHolding, type HeldCoin } from './read-holdings.ts';
import { readSignature, signHash } from './signature.ts';
import { nonceOf, type SigningDeps } from './sign-payment.ts';
import { simulate, withMargin } from './simulate.ts';
import {
  digestOf,
  encodeSigned,
  encodeTransaction,
  signingHashOf,
  windowOf,
  type NewProgram,
  type NewTransaction,
} from './transaction-bytes.ts';

/** Below the protocol limit of 256 gas coins. */
const COINS_MAX = 200;

interface Draft {
  readonly program: NewProgram;
  readonly payment: NewTransaction['gasData']['payment'];
  readonly amountBaseUnits: bigint;
}
type DraftFor = (budgetMist: bigint) => Draft;

export interface GatheringDeps extends SigningDeps {
  readonly onNotGathered: (event: NotGathered) => void;
}

export interface NotGathered {
  readonly wallet: Address;
  readonly contract: TokenContract | null;
  readonly reason: string;
}

/**
 * Moves coins of the wallet into its own address balance, which pays the fee. If it has too little SUI, SUI coins pay
 * the gas and the rest is gathered. Two nodes must report the same coins, and neither may be behind: a transaction with
 * an outdated coin cannot be executed, and its asset would wait in vain.
 */
export async function signGathering(
  sources: SuiSources,
  deps: GatheringDeps,
  wallet: Address,
  contract: TokenContract | null,
  validity: Validity,
  options: ReadOptions,
): Promise<Gathering | undefined> {
  const gathering = await tryGathering(sources, deps, wallet, contract, validity, options);
  if (typeof gathering !== 'string') return gathering;
  deps.onNotGathered({ wallet, contract, reason: gathering });
  return undefined;
}

/** Returns the reason if no transaction was signed. */
async function tryGathering(
  sources: SuiSources,
  deps: SigningDeps,
  wallet: Address,
  contract: TokenContract | null,
  validity: Validity,
  options: ReadOptions,
): Promise<Gathering | string> {
  const { height } = validity.reference;
  const { answers, needed } = await askStateWitnesses(
    sources,
    (source) => readFound(source, { wallet, contract, height }, options),
    options,
  );
  const [found, other] = answers;
  if (found === undefined || answers.length < needed) return 'only one of several nodes reports the coins';
  if (other !== undefined && !isSame(found.coins, other.coins)) return 'two nodes report different coins';
  if (found.coins.length === 0) return 'the nodes report no coins';
  const inFunds = other !== undefined && other.inFunds < found.inFunds ? other.inFunds : found.inFunds;
  const gasPriceMist =
    other !== undefined && other.gasPriceMist > found.gasPriceMist ? other.gasPriceMist : found.gasPriceMist;
  if (gasPriceMist > deps.maxGasPriceMist)
    return `the gas price is ${gasPriceMist} MIST, the cap is ${deps.maxGasPriceMist}`;
  return sources.run(async (source, own) => {
    let why = '';
    for (const { draftFor, fundsMist } of draftsOf(wallet, contract, found.coins, inFunds)) {
      const wanted = { wallet, contract, validity, draftFor, fundsMist, gasPriceMist };
      const gathering = await signDraft(source, deps, wanted, own);
      if (typeof gathering !== 'string') return gathering;
      why = gathering;
    }
    return why;
  }, options);
}

interface Found {
  readonly coins: readonly HeldCoin[];
  readonly inFunds: bigint;
  readonly gasPriceMist: bigint;
}

async function readFound(
  source: SuiSource,
  of: { readonly wallet: Address; readonly contract: TokenContract | null; readonly height: number },
  options: ReadOptions,
): Promise<Found> {
  // First, so that an archive fails with RPC_METHOD_MISSING even if it is behind.
  const { inFunds } = await readHolding(source, of.wallet, SUI_COIN_TYPE, options);
  const head = await readHeader(source, options);
  if (head.height < of.height)
    throw readerError('BLOCK_NOT_FOUND', 'the node is behind the last verified checkpoint', {
      source: source.label,
      head: head.height,
    });
  const coins = await readCoins(source, of.wallet, coinTypeOf(of.contract), options);
  const { gasPriceMist } = await readEpoch(source, options);
  return { coins: coins.slice(0, COINS_MAX), inFunds, gasPriceMist };
}

function isSame(ours: readonly HeldCoin[], theirs: readonly HeldCoin[]): boolean {
  const asText = (coins: readonly HeldCoin[]): string =>
    coins
      .map(
        ({ id, version, digest, startVersion, balance }) => `${[id, version, digest, startVersion, balance]}`,
      )
      .join(' ');
  return asText(ours) === asText(theirs);
}

/** Ways to pay the fee. The simulation uses all their funds as budget; its result is the fee. */
function draftsOf(
  wallet: Address,
  contract: TokenContract | null,
  coins: readonly HeldCoin[],
  suiInFunds: bigint,
): readonly { readonly draftFor: DraftFor; readonly fundsMist: bigint }[] {
  const sumOf = (some: readonly HeldCoin[]): bigint => some.reduce((sum, { balance }) => sum + balance, 0n);
  const amountBaseUnits = sumOf(coins);
  const fromFunds = (): Draft => {
    const plan = {
      from: wallet,
      to: wallet,
      coinType: coinTypeOf(contract),
      form: 'FUNDS',
      hasRest: false,
    } as const;
    const program = programOf({ ...plan, coins, amountBaseUnits, withdrawnBaseUnits: 0n });
    return { program, payment: [], amountBaseUnits };
  };
  const drafts = [{ draftFor: fromFunds, fundsMist: suiInFunds }];
  const owned = coins.filter(({ startVersion }) => startVersion === null);
  if (contract !== null || owned.length === 0) return drafts;
  const held = sumOf(owned);
  const payment = owned.map(({ id, version, digest }) => ({ objectId: id, version, digest }));
  const fromCoins = (budgetMist: bigint): Draft => {
    const rest = held - budgetMist;
    return { program: outOfGas(wallet, rest), payment, amountBaseUnits: rest };
  };
  return [...drafts, { draftFor: fromCoins, fundsMist: held - 1n }];
}

/** Moves the gas coins into the address balance. The unspent budget stays a coin. */
function outOfGas(wallet: Address, amountBaseUnits: bigint): NewProgram {
  return {
    inputs: [
      { Pure: { bytes: bcs.u64().serialize(amountBaseUnits).toBytes() } },
      { Pure: { bytes: bcs.Address.serialize(wallet).toBytes() } },
    ],
    commands: [
      { SplitCoins: { coin: { GasCoin: true }, amounts: [{ Input: 0 }] } },
      {
        MoveCall: {
          package: FRAMEWORK,
          module: 'coin',
          function: 'send_funds',
          typeArguments: [SUI_COIN_TYPE],
          arguments: [{ NestedResult: [0, 0] }, { Input: 1 }],
        },
      },
    ],
  };
}

interface Wanted {
  readonly wallet: Address;
  readonly contract: TokenContract | null;
  readonly validity: Validity;
  readonly draftFor: DraftFor;
  readonly fundsMist: bigint;
  readonly gasPriceMist: bigint;
}

/** Returns a reason if the simulation fails, or the fee exceeds the funds or the cap. */
async function signDraft(
  source: SuiSource,
  { maxGasBudgetMist, backend, chainId }: SigningDeps,
  { wallet, contract, validity: { epochs, uniqueMs }, draftFor, fundsMist, gasPriceMist }: Wanted,
  options: ReadOptions,
): Promise<Gathering | string> {
  const mostMist = fundsMist < maxGasBudgetMist ? fundsMist : maxGasBudgetMist;
  if (epochs === undefined) return 'the epochs of its validity are unknown';
  if (mostMist <= 0n) return 'there is no SUI to pay for it';
  const encode = (budgetMist: bigint): Uint8Array => {
    const { program, payment } = draftFor(budgetMist);
    return encodeTransaction({
      kind: { ProgrammableTransaction: program },
      sender: wallet,
      gasData: { payment, owner: wallet, price: gasPriceMist, budget: budgetMist },
      expiration: windowOf(chainId, epochs, nonceOf(uniqueMs)),
    });
  };
  const trial = await simulate(source, encode(mostMist), options);
  if (typeof trial === 'string') return trial;
  const budgetMist = withMargin(trial.gasMist);
  if (budgetMist > mostMist) return `it may cost ${budgetMist} MIST, but only ${mostMist} are available`;
  const transaction = encode(budgetMist);
  const hash = signingHashOf(transaction);
  const signature = await signHash(backend, wallet, hash);
  if (readGathering(transaction, wallet)?.contract !== contract || readSignature(signature, hash) !== wallet)
    throw senderError(
      'SIGNED_OTHERWISE',
      'the signed transaction differs from the request; it was discarded',
      {
        wallet,
      },
    );
  return {
    txHash: digestOf(transaction),
    raw: encodeSigned({ transaction, signatures: [signature] }),
    contract,
    amountBaseUnits: baseUnits(draftFor(budgetMist).amountBaseUnits),
    feeLimitBaseUnits: budgetMist,
  };
}
