import { signHash } from '@opentill/devnets/tron/chain/signature';
import { sha256 } from '@opentill/devnets/tron/sha256';
import { hex } from '@opentill/devnets/tron/tron-address';
import {
  createByzantineTronProxy,
  type AskedOfTron,
  type ByzantineTronProxy,
} from './byzantine-tron-proxy.ts';
import { headerHash, withHeader, type BlockWithHeader } from './tron-block-id.ts';

/** FORGED_HEADERS recomputes roots and links, and signs headers with the nodes' key under the witnesses' names. */
export type Omission = 'ROOT_KEPT' | 'FORGED_HEADERS';

export interface ColludingNodes {
  readonly urls: readonly [string, string];
  /** Ids of transactions that both nodes omit. */
  readonly hidden: Set<string>;
  /** @default ROOT_KEPT */
  omission: Omission;
  close(): Promise<void>;
}

interface Block extends BlockWithHeader {
  readonly blockID: string;
  readonly transactions?: readonly { readonly txID: string }[];
}

const EMPTY_ROOT = '0'.repeat(64);
const ATTACKER_KEY = sha256(Buffer.from('a key of two colluding nodes'));

/** A block with a hidden transaction must contain no other transaction. */
export async function startColludingNodes(upstreamUrl: string): Promise<ColludingNodes> {
  const hidden = new Set<string>();
  const forged = new Map<string, Block>();
  let proxies: readonly ByzantineTronProxy[] = [];
  const nodes = {
    urls: ['', ''] as [string, string],
    hidden,
    omission: 'ROOT_KEPT' as Omission,
    close: async () => void (await Promise.all(proxies.map((proxy) => proxy.close()))),
  };

  async function honestBlock(height: number): Promise<Block> {
    const body = JSON.stringify({ num: height });
    const answer = await fetch(`${upstreamUrl}/wallet/getblockbynum`, { method: 'POST', body });
    return (await answer.json()) as Block;
  }

  function withoutHidden(block: Block): Block {
    const transactions = block.transactions?.filter(({ txID }) => !hidden.has(txID));
    return transactions === undefined ? block : { ...block, transactions };
  }

  async function forge(honest: Block): Promise<Block> {
    const known = forged.get(honest.blockID);
    if (known !== undefined) return known;
    const height = Number(honest.block_header.raw_data['number'] ?? 0);
    if (height === 0) return honest;
    const parent = await forge(await honestBlock(height - 1));
    const left = withoutHidden(honest);
    const isShortened = left.transactions?.length !== honest.transactions?.length;
    if (!isShortened && parent.blockID === honest.block_header.raw_data['parentHash']) return honest;
    if (isShortened && left.transactions?.length !== 0)
      throw new Error('a block contains hidden and other transactions');
    const block = withHeader(left, {
      parentHash: parent.blockID,
      ...(isShortened && { txTrieRoot: EMPTY_ROOT }),
    });
    const signature = hex(signHash(headerHash(block.block_header.raw_data), ATTACKER_KEY));
    const signed = { ...block, block_header: { ...block.block_header, witness_signature: signature } };
    forged.set(honest.blockID, signed);
    return signed;
  }

  async function override({ method, body }: AskedOfTron, honest: () => Promise<unknown>): Promise<unknown> {
    if (hidden.size === 0) return undefined;
    const isAboutHidden = hidden.has(String(body['value']));
    if (method === 'gettransactioninfobyid' || method === 'gettransactionbyid')
      return isAboutHidden ? {} : undefined;
    if (method === 'gettransactioninfobyblocknum')
      return ((await honest()) as { id: string }[]).filter(({ id }) => !hidden.has(id));
    if (method !== 'getblockbynum' && method !== 'getblock') return undefined;
    const block = (await honest()) as Block;
    if (!('blockID' in block)) return block;
    if (nodes.omission === 'ROOT_KEPT') return withoutHidden(block);
    const height = Number(block.block_header.raw_data['number'] ?? 0);
    const { transactions, ...header } = await forge(await honestBlock(height));
    return method === 'getblock' || transactions === undefined ? header : { ...header, transactions };
  }

  proxies = await Promise.all(
    [1, 2].map((seed) => createByzantineTronProxy({ upstreamUrl, seed, override })),
  );
  nodes.urls = [proxies[0]!.url, proxies[1]!.url];
  return nodes;
}
