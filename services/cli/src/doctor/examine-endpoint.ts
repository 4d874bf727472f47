import { blockReceiptsRequest, blockRequest } from '@opentill/chain-evm/block-requests';
import { decodeHeader, decodeReceipt, transactionHashes, type EvmHeader } from '@opentill/chain-evm/decode';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { checkFees } from './check-fees.ts';
import { readHeader, type ReachedEndpoint } from './endpoint.ts';
import { fail, findingOf, ok, warn, type Finding } from './finding.ts';
import { measureLogRange } from './measure-log-range.ts';

export interface ExaminedEndpoint extends ReachedEndpoint {
  readonly findings: readonly Finding[];
  /** Below the head, newest first. Fewer than requested on a short chain; none if refused. */
  readonly headers: readonly EvmHeader[];
  readonly offersReceipts: boolean;
}

const HEADERS = 20;
/** Several nodes may serve one URL, and some may not have the newest blocks. */
const BLOCKS_BELOW_HEAD = 2;

/** One check after the other, because the endpoint may be public. */
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

/** Returns the newest block with transactions, else one without. */
function blockWithReceipts(endpoint: ReachedEndpoint, headers: readonly EvmHeader[]): EvmHeader {
  const candidates = headers.slice(BLOCKS_BELOW_HEAD);
  return candidates.find(({ transactions }) => transactions.length > 0) ?? candidates[0] ?? endpoint.head;
}

async function checkFinality(endpoint: ReachedEndpoint, network: NetworkConfig): Promise<Finding> {
  const tag = network.finality?.tag ?? 'finalized';
  const found = { subject: endpoint.label, check: tag };
  const isNeeded = network.confirmations === 'finalized';
  try {
    const { height, timeSeconds } = await readHeader(endpoint.client, tag);
    const behind = `${endpoint.head.height - height} blocks and ${endpoint.head.timeSeconds - timeSeconds} s`;
    const detail = `Block ${height} is ${tag === 'safe' ? 'safe' : 'final'}, ${behind} behind the head.`;
    if (isNeeded && isBehindHead(network) && height >= endpoint.head.height)
      return fail(found, detail, `This node answers ${tag} with its newest block: use another endpoint.`);
    const staleSeconds = isNeeded ? network.finality?.staleSeconds : undefined;
    if (staleSeconds === undefined || endpoint.head.timeSeconds - timeSeconds <= staleSeconds)
      return ok(found, detail);
    const { fallbackDepth } = network.finality ?? {};
    if (fallbackDepth === undefined) {
      const mend =
        'The chain or this node does not finalise at present; newer payments are not credited until it does.';
      return fail(found, detail, mend);
    }
    const mend = `The chain or this node does not finalise at present; payments are credited at a depth of ${fallbackDepth} blocks.`;
    return warn(found, detail, mend);
  } catch (error) {
    const finding = findingOf(error, found.subject, found.check);
    if (isNeeded) return finding;
    return ok(found, 'Not offered, and not needed: a number of confirmations is configured.');
  }
}

/** Such blocks wait for the base chain. Elsewhere the newest block may be final. */
function isBehindHead({ finality, dataFee }: NetworkConfig): boolean {
  return finality?.tag === 'safe' || dataFee === 'op-stack';
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
        ? ok(found, `${count} requests in one call were answered.`)
        : warn(
            found,
            `${count} requests in one call were refused, ${most} were answered.`,
            'Reading needs more calls; prefer an endpoint that accepts batches of 20.',
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
      throw readerError('BLOCK_NOT_FOUND', `the receipts of block ${block.height} are missing`);
    const receipts = answer.map((receipt) => decodeReceipt(receipt, true));
    // Polygon's own state syncs have a receipt, but no position among the transactions that all nodes agree on.
    const ofTheChain = new Set(receipts.flatMap(({ isStateSync, txHash }) => (isStateSync ? [txHash] : [])));
    const given = receipts.length - ofTheChain.size;
    const wanted = transactionHashes(block).filter((txHash) => !ofTheChain.has(txHash)).length;
    const detail = `eth_getBlockReceipts returns ${given} receipts for ${wanted} transactions of block ${block.height}.`;
    if (given === wanted) return ok(found, detail);
    return fail(found, detail, 'Use another endpoint: its answers are incomplete.');
  } catch (error) {
    if (!isReaderError(error, 'RPC_METHOD_MISSING')) return findingOf(error, found.subject, found.check);
    return warn(
      found,
      'eth_getBlockReceipts is not offered.',
      'Configure at least one endpoint that offers it: receipts decide where two endpoints differ.',
    );
  }
}
