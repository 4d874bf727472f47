import { blockReceiptsRequest } from '@opentill/chain-evm/block-requests';
import { bloomBits, bloomMayHold, fitBloom } from '@opentill/chain-evm/bloom';
import { decodeLogs, decodeReceipt, type EvmHeader, type EvmLog } from '@opentill/chain-evm/decode';
import { readerError } from '@opentill/chain/reader-error';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ExaminedEndpoint } from './examine-endpoint.ts';
import { fail, findingOf, ok, type Finding } from './finding.ts';

/**
 * On Avalanche a header's filter does not cover the block's own logs; a reader that used it would reject correct
 * answers.
 */
export async function checkBloom(endpoint: ExaminedEndpoint, network: NetworkConfig): Promise<Finding> {
  const found = { subject: endpoint.label, check: 'bloom' };
  // Several nodes may serve one URL, and some may not have the newest block yet.
  const candidates = endpoint.headers.slice(1);
  const block = candidates.find((header) => !/^0x0+$/.test(header.logsBloom));
  if (block === undefined) {
    const detail = `No log in the last ${candidates.length} blocks: no comparison possible.`;
    return ok(found, detail);
  }
  try {
    const logs = await logsOf(endpoint, block);
    const isOwn =
      fitBloom(block.logsBloom, logs).isExplained &&
      logs.every((log) =>
        [log.address, ...log.topics].every((value) => bloomMayHold(block.logsBloom, bloomBits(value))),
      );
    const seen = `The header's bloom of block ${block.height} ${isOwn ? 'matches' : 'does not match'} its ${logs.length} logs`;
    if (!network.bloom) return ok(found, `${seen}; this network does not use it.`);
    if (isOwn) return ok(found, `${seen}.`);
    const mend = 'Compare with another endpoint; if it shows the same, set bloom to false.';
    return fail(found, `${seen}.`, mend);
  } catch (error) {
    return findingOf(error, found.subject, found.check);
  }
}

async function logsOf(endpoint: ExaminedEndpoint, block: EvmHeader): Promise<readonly EvmLog[]> {
  const request = endpoint.offersReceipts
    ? blockReceiptsRequest(block.hash)
    : { method: 'eth_getLogs', params: [{ blockHash: block.hash }] };
  const [answer] = await endpoint.client.batch([request]);
  if (!endpoint.offersReceipts) return decodeLogs(answer);
  if (!Array.isArray(answer)) throw readerError('BLOCK_NOT_FOUND', `block ${block.height} has no receipts`);
  return answer.flatMap((receipt) => decodeReceipt(receipt, true).logs);
}
