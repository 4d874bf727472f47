import { blockReceiptsRequest, blockRequest } from '@opentill/chain-evm/block-requests';
import { decodeHeader, decodeReceipt, transactionHashes, type EvmHeader } from '@opentill/chain-evm/decode';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { checkFees } from './check-fees.ts';
import { readHeader, type ReachedEndpoint } from './endpoint.ts';
import { fail, findingOf, ok, warn, type Finding } from './finding.ts';
import { measureLogRange } from './measure-log-range.ts';

/** What the rest of the examination needs of an endpoint. */
export interface ExaminedEndpoint extends ReachedEndpoint {
  readonly findings: readonly Finding[];
  /** The headers below its head, newest first; fewer than asked for on a short chain, none if they were refused. */
  readonly headers: readonly EvmHeader[];
  readonly offersReceipts: boolean;
}

/** As many as the reader asks for at once. */
const HEADERS = 20;
/** Several nodes may stand behind one URL, and the newest blocks be unknown to the next. */
const BLOCKS_BELOW_HEAD = 2;

/** Asks an endpoint for all that a scanner and a signer need of it, one thing after the other: it may be a public one. */
export async function examineEndpoint(
  endpoint: ReachedEndpoint,
  network: NetworkConfig,
): Promise<ExaminedEndpoint> {
  const finality = await checkFinality(endpoint, network);
  const { headers, finding: batch } = await checkBatch(endpoint);
  const receipts = await checkReceipts(endpoint, blockWithReceipts(endpoint, headers));
  const logs = await measureLogRange(endpoint, network);
  const fees = await checkFees(endpoint, network);
  const offersReceipts = receipts.outcome === 'ok';
  return { ...endpoint, headers, offersReceipts, findings: [finality, batch, receipts, logs, ...fees] };
}

/** The newest block that has any, else one that has none. */
function blockWithReceipts(endpoint: ReachedEndpoint, headers: readonly EvmHeader[]): EvmHeader {
  const candidates = headers.slice(BLOCKS_BELOW_HEAD);
  return candidates.find(({ transactions }) => transactions.length > 0) ?? candidates[0] ?? endpoint.head;
}

async function checkFinality(endpoint: ReachedEndpoint, network: NetworkConfig): Promise<Finding> {
  const found = { subject: endpoint.label, check: 'finalized' };
  const isNeeded = network.confirmations === 'finalized';
  try {
    const { height, timeSeconds } = await readHeader(endpoint.client, 'finalized');
    const behind = `${endpoint.head.height - height} blocks and ${endpoint.head.timeSeconds - timeSeconds} s`;
    const detail = `Block ${height} is final, ${behind} behind the head.`;
    const staleSeconds = isNeeded ? network.finality?.staleSeconds : undefined;
    if (staleSeconds === undefined || endpoint.head.timeSeconds - timeSeconds <= staleSeconds)
      return ok(found, detail);
    const { fallbackDepth } = network.finality ?? {};
    if (fallbackDepth === undefined) {
      const mend =
        'The chain or this node does not finalise just now; nothing newer is credited until it does.';
      return fail(found, detail, mend);
    }
    const mend = `The chain or this node does not finalise just now; what is ${fallbackDepth} blocks deep is credited all the same.`;
    return warn(found, detail, mend);
  } catch (error) {
    const finding = findingOf(error, found.subject, found.check);
    if (isNeeded) return finding;
    return ok(found, 'Not offered, and not needed: a number of confirmations decides.');
  }
}

async function checkBatch(
  endpoint: ReachedEndpoint,
): Promise<{ readonly headers: readonly EvmHeader[]; readonly finding: Finding }> {
  const found = { subject: endpoint.label, check: 'batches' };
  const count = Math.min(HEADERS, endpoint.head.height + 1);
  const heights = Array.from({ length: count }, (_, place) => endpoint.head.height - place);
  const before = endpoint.exchanges.length;
  try {
    const answers = await endpoint.client.batch(heights.map((height) => blockRequest(height)));
    const sizes = endpoint.exchanges
      .slice(before)
      .flatMap(({ outcome, methods }) => (outcome === 'OK' ? [methods.length] : []));
    const most = Math.max(...sizes);
    const finding: Finding =
      most === count
        ? ok(found, `${count} requests went in one call.`)
        : warn(
            found,
            `${count} requests in one call were refused, ${most} were answered.`,
            'Reading costs more calls here; prefer an endpoint that takes batches of 20.',
          );
    return { headers: answers.map(decodeHeader), finding };
  } catch (error) {
    return { headers: [], finding: findingOf(error, found.subject, found.check) };
  }
}

async function checkReceipts(endpoint: ReachedEndpoint, block: EvmHeader): Promise<Finding> {
  const found = { subject: endpoint.label, check: 'receipts' };
  try {
    const [answer] = await endpoint.client.batch([blockReceiptsRequest(block.hash)]);
    if (!Array.isArray(answer))
      throw readerError('BLOCK_NOT_FOUND', `the receipts of block ${block.height} are not there`);
    const receipts = answer.map((receipt) => decodeReceipt(receipt, true));
    // What a chain itself does (Polygon) has a receipt, but no place among the transactions that is the same everywhere.
    const ofTheChain = new Set(receipts.flatMap(({ isStateSync, txHash }) => (isStateSync ? [txHash] : [])));
    const given = receipts.length - ofTheChain.size;
    const wanted = transactionHashes(block).filter((txHash) => !ofTheChain.has(txHash)).length;
    const detail = `eth_getBlockReceipts gives ${given} receipts for ${wanted} transactions of block ${block.height}.`;
    if (given === wanted) return ok(found, detail);
    return fail(found, detail, 'Take another endpoint: what it says is not whole.');
  } catch (error) {
    if (!isReaderError(error, 'RPC_METHOD_MISSING')) return findingOf(error, found.subject, found.check);
    return warn(
      found,
      'eth_getBlockReceipts is not offered.',
      'Have at least one endpoint that offers it: receipts settle what two endpoints say differently.',
    );
  }
}
