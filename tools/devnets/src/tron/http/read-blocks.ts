import type { Block } from '../chain/block.ts';
import type { Chain } from '../chain/chain.ts';
import { messageToJson, type JsonObject } from '../protobuf/json.ts';
import { textOf, writePlainJson } from '../protobuf/json-text.ts';
import { encodedTransactionToJson } from '../protobuf/transaction-json.ts';
import { infoToJson } from './read-transactions.ts';
import { blockAt, createAnswerCache, type Endpoint, type NodeAnswer, type NodeRequest } from './node.ts';

const LIMIT_NEXT_MAX = 100;
const LATEST_MAX = 99;
const CACHE_BYTES = 32 * 1024 * 1024;

export function createBlockEndpoints(): Record<string, Endpoint> {
  const cache = createAnswerCache(CACHE_BYTES);
  const show = (request: NodeRequest, block: Block | undefined, detail = true): NodeAnswer => {
    if (block === undefined) return {};
    const { visible } = request;
    const make = (): string => writePlainJson(blockToJson(block, { visible, detail }));
    return cache.get(`${block.id} block ${visible} ${detail}`, make);
  };
  const showList = (request: NodeRequest, from: number, to: number): NodeAnswer => {
    const block: JsonObject[] = [];
    for (let number = Math.max(0, from); number < to; number++) {
      const found = blockAt(request, number);
      if (found) block.push(blockToJson(found, { visible: request.visible, detail: true }));
    }
    return block.length === 0 ? {} : { block };
  };
  return {
    getnowblock: (request) => show(request, blockAt(request, request.top)),
    getblockbynum: (request) => show(request, blockAt(request, Number(request.body['num'] ?? 0))),
    getblockbyid: (request) => show(request, blockById(request, textOf(request.body['value']))),
    getblock: (request) => {
      const { id_or_num: wanted, detail } = request.body;
      const full = detail === true || detail === 'true';
      if (wanted === undefined || wanted === '') return show(request, blockAt(request, request.top), full);
      const text = textOf(wanted);
      const block = /^\d{1,18}$/.test(text) ? blockAt(request, Number(text)) : blockById(request, text);
      return show(request, block, full);
    },
    getblockbylimitnext: (request) => {
      const start = Number(request.body['startNum'] ?? 0);
      const end = Number(request.body['endNum'] ?? 0);
      if (!(end > 0 && end > start && end - start <= LIMIT_NEXT_MAX)) return {};
      return showList(request, start, Math.min(end, request.top + 1));
    },
    getblockbylatestnum: (request) => {
      const count = Number(request.body['num'] ?? 0);
      if (!(count > 0 && count <= LATEST_MAX)) return {};
      return showList(request, request.top - count + 1, request.top + 1);
    },
    gettransactioncountbyblocknum: (request) => {
      const block = blockAt(request, Number(request.body['num'] ?? 0));
      return { count: block === undefined ? -1 : block.transactions.length };
    },
    gettransactioninfobyblocknum: (request) => {
      const number = Number(request.body['num'] ?? 0);
      if (number <= 0) return {};
      const block = blockAt(request, number);
      if (block === undefined) return [];
      const { visible } = request;
      const make = (): string =>
        writePlainJson(block.transactions.map(({ info }) => infoToJson(info, visible)));
      return cache.get(`${block.id} infos ${visible}`, make);
    },
  };
}

function blockById(request: NodeRequest, id: string): Block | undefined {
  const number = request.chain.numbersById.get(id);
  return number === undefined ? undefined : blockAt(request, number);
}

/** Block format of java-tron's Util.printBlockToJSON. */
function blockToJson(
  block: Block,
  options: { readonly visible: boolean; readonly detail: boolean },
): JsonObject {
  const { visible, detail } = options;
  return {
    blockID: block.id,
    block_header: messageToJson('BlockHeader', block.header, visible),
    ...(detail && block.transactions.length > 0
      ? {
          transactions: block.transactions.map(({ id, transaction }) =>
            encodedTransactionToJson(transaction, id, visible),
          ),
        }
      : {}),
  };
}

export function describeBlock(chain: Chain, number: number): string {
  return `Num:${number},ID:${chain.blocks.get(number)?.id ?? ''}`;
}
