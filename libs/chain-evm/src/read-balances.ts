import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError, type ReaderError } from '@opentill/chain/reader-error';
import type { Holding, StateNumber } from '@opentill/chain/state-number';
import { agreeOnNumber } from '@opentill/chain-sources/agree-on-number';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { blockRequest, hexQuantity } from './block-requests.ts';
import type { RpcRequest } from './client.ts';
import { decodeHeader } from './decode.ts';
import type { EvmNetwork, EvmReaderDeps } from './reader.ts';
import type { EvmSources } from './sources.ts';
import { sourcesOfNetwork } from './sources-of-network.ts';

/**
 * Numbers of the state at the end of one block. BLOCK_NOT_FOUND also when a node has pruned the block's state
 * (isStateDiscarded), as most do after some 128 blocks.
 */
export interface EvmStateReader {
  balances(
    holdings: readonly Holding[],
    block: Pick<BlockHeader, 'height' | 'hash'>,
    options?: ReadOptions,
  ): Promise<readonly StateNumber[]>;
  transactionCounts(
    wallets: readonly Address[],
    block: Pick<BlockHeader, 'height' | 'hash'>,
    options?: ReadOptions,
  ): Promise<readonly StateNumber[]>;
}

const BALANCE_OF_SELECTOR = '0x70a08231';
const WORD_GRAMMAR = /^0x[0-9a-fA-F]{64}$/;
const QUANTITY_GRAMMAR = /^0x[0-9a-fA-F]{1,64}$/;
const QUESTIONS_PER_CALL = 100;
const CALLS_AT_ONCE = 4;
/** geth (hash and path schemes), erigon, nethermind, besu, reth, and providers on top of them. */
const STATE_DISCARDED =
  /missing trie node|historical state|state (?:at block \S+ )?(?:is |was )?(?:not available|unavailable|pruned|discarded|already discarded)|no state available|pruned|distance to target block exceeds|archive/i;

interface Question {
  readonly request: RpcRequest;
  readonly decode: (answer: unknown) => bigint;
}

export function createEvmStateReader(
  network: EvmNetwork,
  deps: Pick<EvmReaderDeps, 'requestTimeoutMs' | 'onExchange'> = {},
): EvmStateReader {
  const sources = sourcesOfNetwork(network, deps);

  async function ask(
    questions: readonly Question[],
    block: Pick<BlockHeader, 'height' | 'hash'>,
    options: ReadOptions,
  ): Promise<readonly StateNumber[]> {
    const numbers: StateNumber[] = [];
    const perRound = QUESTIONS_PER_CALL * CALLS_AT_ONCE;
    for (let at = 0; at < questions.length; at += perRound) {
      const calls = Array.from({ length: CALLS_AT_ONCE }, (_, call) => {
        const from = at + call * QUESTIONS_PER_CALL;
        return questions.slice(from, from + QUESTIONS_PER_CALL);
      }).filter((call) => call.length > 0);
      numbers.push(
        ...(await Promise.all(calls.map((call) => askCall(sources, call, block, options)))).flat(),
      );
    }
    return numbers;
  }

  return {
    balances: (holdings, block, options = {}) =>
      ask(
        holdings.map((holding) => balanceQuestion(holding, block.height)),
        block,
        options,
      ),
    transactionCounts: (wallets, block, options = {}) =>
      ask(
        wallets.map((wallet) => ({
          request: { method: 'eth_getTransactionCount', params: [wallet, hexQuantity(block.height)] },
          decode: quantity,
        })),
        block,
        options,
      ),
  };
}

async function askCall(
  sources: EvmSources,
  questions: readonly Question[],
  block: Pick<BlockHeader, 'height' | 'hash'>,
  options: ReadOptions,
): Promise<readonly StateNumber[]> {
  const requests = [...questions.map(({ request }) => request), blockRequest(block.height)];
  const received = await askTwoSources(
    sources,
    {
      ask: async (source, own) => {
        const answers = await source.batch(requests, own).catch((error: unknown) => {
          throw isAboutLostState(error) ? stateDiscarded(block.height, error) : error;
        });
        checkBlock(answers.at(-1), block);
        return questions.map(({ decode }, place) => decode(answers[place]));
      },
      height: block.height,
      onSingleSource: () => undefined, // the scanner's reader raises the alarm
    },
    options,
  );
  return questions.map((_, place) => agreeOnNumber(received, place));
}

/** The nodes have no state that old: use a newer block or an archive node. */
export function isStateDiscarded(error: unknown): boolean {
  return isReaderError(error, 'BLOCK_NOT_FOUND') && error.context['stateDiscarded'] === true;
}

function balanceQuestion({ holder, contract }: Holding, height: number): Question {
  const at = hexQuantity(height);
  if (contract === null)
    return { request: { method: 'eth_getBalance', params: [holder, at] }, decode: quantity };
  const data = `${BALANCE_OF_SELECTOR}${holder.slice(2).padStart(64, '0')}`;
  return { request: { method: 'eth_call', params: [{ to: contract, data }, at] }, decode: word };
}

function quantity(answer: unknown): bigint {
  if (typeof answer === 'string' && QUANTITY_GRAMMAR.test(answer)) return BigInt(answer);
  throw readerError('INCONSISTENT_ANSWER', "the node's answer is malformed: not a quantity");
}

function word(answer: unknown): bigint {
  if (typeof answer === 'string' && WORD_GRAMMAR.test(answer)) return BigInt(answer);
  throw readerError('INCONSISTENT_ANSWER', "the node's answer is malformed: not a token's balance");
}

function checkBlock(raw: unknown, { height, hash }: Pick<BlockHeader, 'height' | 'hash'>): void {
  if (raw === null) throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height });
  if (decodeHeader(raw).hash !== hash)
    throw readerError('INCONSISTENT_ANSWER', 'the node has another block at this height', { height, hash });
}

function isAboutLostState(error: unknown): error is ReaderError {
  return (
    (isReaderError(error, 'RPC_REFUSED') ||
      isReaderError(error, 'RPC_UNAVAILABLE') ||
      isReaderError(error, 'BLOCK_NOT_FOUND')) &&
    STATE_DISCARDED.test(error.message)
  );
}

function stateDiscarded(height: number, cause: ReaderError): ReaderError {
  const message = `the node has pruned the state of block ${height}`;
  return readerError('BLOCK_NOT_FOUND', message, { ...cause.context, height, stateDiscarded: true }, cause);
}
