import { familyOf, type Chain } from '@opentill/domain/chains';
import { chainNameOf } from './chain-names.ts';
import type { CheckoutOrder } from './checkout-order.ts';
import { markup, type Html } from './html.ts';

/** A colour and white shapes in a square of 24 units. */
interface Glyph {
  readonly colour: string;
  readonly shapes: string;
}

const ETHER: Glyph = {
  colour: '#627eea',
  shapes: 'M12 4.5 7 12.3l5 2.9 5-2.9zM7.3 13.9 12 20l4.7-6.1-4.7 2.7z',
};
const TRON: Glyph = { colour: '#d90429', shapes: 'M6 6.5l9.3 1.8L18.6 12l-7 8.3zM8.3 8.6l2.9 8 .7-6z' };
const SUI: Glyph = { colour: '#2f7fd6', shapes: 'M12 4c3 3.8 5 6.3 5 9.3a5 5 0 0 1-10 0C7 10.3 9 7.8 12 4z' };
const NETWORKS: Readonly<Partial<Record<Chain, Glyph>>> = {
  BSC: {
    colour: '#c58a00',
    shapes:
      'M12 4.8l2.2 2.2L12 9.2 9.8 7zM7 9.8 9.2 12 7 14.2 4.8 12zM17 9.8 19.2 12 17 14.2 14.8 12zM12 9.8 14.2 12 12 14.2 9.8 12zM12 14.8l2.2 2.2-2.2 2.2L9.8 17z',
  },
  POLYGON: {
    colour: '#7b3fe4',
    shapes: 'M12 5l6 3.5v7L12 19l-6-3.5v-7zM12 8.2l-3.3 1.9v3.8l3.3 1.9 3.3-1.9v-3.8z',
  },
  AVAX_C_CHAIN: { colour: '#d63031', shapes: 'M10.5 6h3l-6.5 12H4.5zM16 13l2.8 5h-5.6z' },
};
const TOKENS: Readonly<Record<string, Glyph>> = {
  USDT: { colour: '#1a7f64', shapes: 'M6.5 6.5h11v2.7h-4v9.3h-3V9.2h-4z' },
  USDC: {
    colour: '#2775ca',
    shapes:
      'M11 5h2v1.6c1.7.3 2.9 1.400 3 3h-2c-.1-.8-.8-1.3-2-1.3-1.3 0-2 .5-2 1.3 0 .9.9 1.1 2.3 1.5 2 .5 3.9 1 3.9 3.2 0 1.7-1.3 2.8-3.2 3.1V19h-2v-1.6c-2-.3-3.2-1.5-3.3-3.2h2c.1.9.9 1.5 2.3 1.5s2.2-.5 2.2-1.400c0-.9-.9-1.2-2.400-1.5-2-.5-3.8-1-3.8-3.1 0-1.6 1.2-2.7 3-3.1z',
  },
};
const TEST_CHAINS: Readonly<Partial<Record<Chain, Chain>>> = {
  BSC_TEST: 'BSC',
  POLYGON_AMOY: 'POLYGON',
  AVAX_FUJI_TEST: 'AVAX_C_CHAIN',
};

function glyphOf(chain: Chain): Glyph {
  const own = NETWORKS[TEST_CHAINS[chain] ?? chain];
  if (own !== undefined) return own;
  return { EVM: ETHER, TRON, SUI }[familyOf(chain)];
}

/** Ethereum's glyph on another EVM network would name the wrong network. */
function hasOwnGlyph(chain: Chain): boolean {
  return familyOf(chain) !== 'EVM' || chain.startsWith('ETH') || glyphOf(chain) !== ETHER;
}

/** Decoration next to a name. The name's initial where the network has no glyph. */
export function networkGlyph(order: Pick<CheckoutOrder, 'chain' | 'chainName'>): Html {
  return svg(hasOwnGlyph(order.chain) ? disc(glyphOf(order.chain)) : initial(chainNameOf(order)));
}

/** A coin's glyph with that of its network. */
export function coinGlyph(coin: Pick<CheckoutOrder, 'chain' | 'chainName' | 'symbol'>): Html {
  const own = Object.hasOwn(TOKENS, coin.symbol) ? TOKENS[coin.symbol] : undefined;
  return markup`<span class="marks">${svg(own === undefined ? initial(coin.symbol) : disc(own))}${networkGlyph(coin)}</span>`;
}

/** The network's glyph for a token without its own. */
export function tokenGlyph(symbol: string, chain: Chain): Html {
  const own = Object.hasOwn(TOKENS, symbol) ? TOKENS[symbol] : undefined;
  return svg(disc(own ?? glyphOf(chain)));
}

/** For the middle of a code: `size` units wide, its corner at `at`. */
export function codeGlyph(chain: Chain, at: number, size: number): Html {
  return markup`<g transform="translate(${at} ${at}) scale(${(size / 24).toFixed(4)})">${disc(glyphOf(chain))}</g>`;
}

function svg(shapes: Html): Html {
  return markup`<svg class="glyph" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${shapes}</svg>`;
}

function initial(name: string): Html {
  const letter = name.charAt(0).toUpperCase();
  return markup`<circle cx="12" cy="12" r="12" fill="#57616c" /><text x="12" y="16.5" fill="#fff" font-size="13" font-weight="700" text-anchor="middle">${letter}</text>`;
}

function disc({ colour, shapes }: Glyph): Html {
  return markup`<circle cx="12" cy="12" r="12" fill="${colour}" /><path fill="#fff" fill-rule="evenodd" d="${shapes}" />`;
}
