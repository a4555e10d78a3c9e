/**
 * Where the elements of a space are on a board. A grid is its array, a graph a circle of vertices, a permutation its
 * matrix; a word and a list are rows of boxes.
 *
 * @typedef {object} Space
 * @property {"grid" | "graph" | "list" | "word" | "permutation"} kind
 * @property {number} length
 * @property {any[]} elements
 * @property {number[]} sides
 * @property {[number, number]} [size] of a grid: rows and columns
 * @property {[number, number][]} [places] row and column of each point
 * @property {[number, number, number, number][]} [frames] row, column, rows and columns
 *
 * @typedef {{ x: number, y: number, width: number, height: number }} Box
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {Box[]} boxes of the elements; of a graph one per edge, at its middle
 * @property {Box[]} frames
 * @property {{ x: number, y: number }[]} vertices
 */
const MARGIN = 6;
const MOST_CELL = 40; // pixels
const SMALL = 170; // pixels, below which there is no room for names
const HIT = 14; // pixels around a vertex

/**
 * @param {Space} space
 * @param {number} width
 * @returns {Layout}
 */
export function layoutOf(space, width) {
  if (space.kind === "graph") return circle(space, width);
  if (space.kind === "permutation") return grid(matrix(space.length), width);
  return space.places ? grid(space, width) : rows(space, width);
}

/** @param {number} n */
const matrix = (n) => ({
  size: /** @type {[number, number]} */ ([n, n]),
  places: Array.from({ length: n * n }, (_, i) => /** @type {[number, number]} */ ([Math.floor(i / n), i % n])),
  frames: [/** @type {[number, number, number, number]} */ ([0, 0, n, n])],
});

/**
 * @param {Pick<Space, "size" | "places" | "frames">} space
 * @param {number} width
 * @returns {Layout}
 */
function grid({ size = [1, 1], places = [], frames = [] }, width) {
  const cell = Math.min(MOST_CELL, (width - 2 * MARGIN) / Math.max(size[1], size[0]));
  const at = (/** @type {number} */ n) => MARGIN + cell * n;
  return {
    width: 2 * MARGIN + cell * size[1],
    height: 2 * MARGIN + cell * size[0],
    boxes: places.map(([row, column]) => ({ x: at(column), y: at(row), width: cell, height: cell })),
    frames: frames.map(([row, column, h, w]) => ({ x: at(column), y: at(row), width: cell * w, height: cell * h })),
    vertices: [],
  };
}

/**
 * @param {Space} space
 * @param {number} width
 * @returns {Layout}
 */
function rows({ kind, elements, length }, width) {
  const count = kind === "word" ? length : elements.length;
  const longest = kind === "word" ? 1 : Math.max(...elements.map((one) => shown(one).length));
  const small = width < SMALL; // boxes without names
  const cell = small ? Math.max(5, Math.min(13, width / Math.sqrt(1.6 * count))) : Math.max(26, 10 + 7.4 * longest);
  const tall = small ? cell - 3 : 26;
  const across = Math.max(1, Math.min(count, Math.floor((width - 2 * MARGIN) / cell)));
  const left = (/** @type {number} */ i) => MARGIN + cell * (i % across);
  const top = (/** @type {number} */ i) => MARGIN + (tall + 3) * Math.floor(i / across);
  return {
    width: 2 * MARGIN + cell * across,
    height: 2 * MARGIN + (tall + 3) * Math.ceil(count / across),
    boxes: Array.from({ length: count }, (_, i) => ({ x: left(i), y: top(i), width: cell - 3, height: tall })),
    frames: [],
    vertices: [],
  };
}

/**
 * @param {Space} space
 * @param {number} width
 * @returns {Layout}
 */
function circle({ sides, elements }, width) {
  const room = Math.min(width, 240 + 12 * sides[0]);
  const radius = room / 2 - 24;
  const vertices = Array.from({ length: sides[0] }, (_, v) => {
    const turn = (2 * Math.PI * v) / sides[0] - Math.PI / 2;
    return { x: room / 2 + radius * Math.cos(turn), y: room / 2 + radius * Math.sin(turn) };
  });
  const boxes = elements.map(([u, v]) => ({
    ...{ x: (vertices[u].x + vertices[v].x) / 2, y: (vertices[u].y + vertices[v].y) / 2 },
    ...{ width: 0, height: 0 },
  }));
  return { width: room, height: room, boxes, frames: [], vertices };
}

/**
 * The element at a place, -1 if there is none; of a graph the vertex where an edge may begin, or the edge that ends
 * there.
 * @param {Space} space
 * @param {Layout} layout
 * @param {number} x
 * @param {number} y
 * @param {number | undefined} from the vertex from which an edge begins
 * @returns {number | { vertex: number }}
 */
export function elementAt(space, { boxes, vertices }, x, y, from) {
  if (space.kind !== "graph") {
    return boxes.findIndex((box) => x >= box.x && y >= box.y && x < box.x + box.width && y < box.y + box.height);
  }
  const far = vertices.map((one) => Math.hypot(one.x - x, one.y - y));
  const vertex = far.indexOf(Math.min(...far));
  if (far[vertex] > HIT) return -1;
  if (from === undefined || from === vertex) return { vertex };
  const [u, v] = [Math.min(from, vertex), Math.max(from, vertex)];
  return space.elements.findIndex(([a, b]) => a === u && b === v);
}

/** @param {any} element */
export const shown = (element) => (Array.isArray(element) ? element.join(" ") : String(element));

/**
 * An element in words.
 * @param {Space} space
 * @param {number} i
 */
export function nameOf({ kind, elements, length }, i) {
  if (kind === "word") return `letter ${i}`;
  if (kind === "permutation") return `row ${Math.floor(i / length)}, value ${i % length}`;
  return Array.isArray(elements[i]) ? `(${elements[i].join(", ")})` : String(elements[i]);
}

/**
 * The construction that people write, as indices.
 * @param {Space} space
 * @param {any} construction
 * @returns {number[]}
 */
export function indicesOf({ elements, kind }, construction) {
  if (kind === "permutation") return [...construction];
  const index = new Map(elements.map((one, i) => [shown(one), i]));
  return [...construction].map((one) => index.get(shown(one)) ?? -1).filter((i) => i >= 0);
}

/**
 * Indices, as people write the construction.
 * @param {Space} space
 * @param {number[]} indices
 */
export function writtenAs({ elements, kind }, indices) {
  if (kind === "permutation") return indices;
  const chosen = indices.map((i) => elements[i]);
  return kind === "word" ? chosen.join("") : chosen;
}
