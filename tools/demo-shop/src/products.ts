export interface Product {
  readonly id: string;
  readonly name: string;
  /** In US dollars: one dollar is one USDT or USDC. */
  readonly price: string;
  readonly text: string;
  /** Describes the picture. */
  readonly alt: string;
}

export const PRODUCTS: readonly Product[] = [
  {
    id: 'mug',
    name: 'Mug',
    price: '12.90',
    text: 'Stoneware, 350 ml, made for the second cup.',
    alt: 'A green mug with a pine on it',
  },
  {
    id: 'hoodie',
    name: 'Hoodie',
    price: '49.00',
    text: 'Heavy cotton with a hood that stays up.',
    alt: 'A blue hoodie',
  },
  {
    id: 'tote',
    name: 'Tote bag',
    price: '14.50',
    text: 'Canvas. Carries twelve books or one cat.',
    alt: 'A canvas bag with a hill and a sun on it',
  },
  {
    id: 'notebook',
    name: 'Notebook',
    price: '9.80',
    text: '160 pages of dotted paper, lies flat.',
    alt: 'A red notebook with a ribbon',
  },
  {
    id: 'cap',
    name: 'Cap',
    price: '19.00',
    text: 'One size, for sun and for drizzle.',
    alt: 'A yellow cap',
  },
  {
    id: 'sticker',
    name: 'Sticker',
    price: '1.50',
    text: 'Weatherproof. Our cheapest test payment.',
    alt: 'A round sticker with three pines',
  },
];

export function findProduct(id: unknown): Product | undefined {
  return PRODUCTS.find((product) => product.id === id);
}

export function dollars(amount: string): string {
  return `$${amount}`;
}
